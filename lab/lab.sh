# ./setup lab: three nodes, two switches from different makers, six pods, in network namespaces.
# Sourced by setup, whose say, note, step and die it uses.
. "$top/lab/fabric.sh"
. "$top/lab/daemons.sh"
. "$top/lab/show.sh"

lab_main() {
	case ${1:-up} in
	up)
		[ $# -le 1 ] || { usage >&2; exit 2; }
		lab_up
		;;
	shell)
		[ $# = 2 ] || { usage >&2; exit 2; }
		lab_shell "$2"
		;;
	down)
		need_root "removing namespaces" "lab down"
		remove_fabric
		say "The lab is gone"
		;;
	*)
		usage >&2
		exit 2
		;;
	esac
}

lab_up() {
	need_root "the lab makes network namespaces" lab
	install_packages "${lab_packages[@]}"
	build_top
	say "Removing what an earlier lab left"
	remove_fabric
	say "Two switches, three nodes, a wire of its own for each pair:"
	cat "$top/lab/picture"
	lab_start
	wait_for_fabric
	show_node
	say "Everybody pings everybody"
	ping_everyone
	show_plain_packets
	break_switch
	break_daemon
	say "Everybody pings everybody, once more"
	ping_everyone
	lab_explore
	lab_summary
}

lab_start() {
	local name row
	mkdir -p "$lab_run"
	make_fabric
	while read -r row; do
		say "Starting switch $(awk '{ print $1 " (" $2 ", AS " $3 ")" }' <<<"$row")"
		start_switch $row
	done < <(rows switch)
	while read -r row; do
		say "Starting underlayd on $(awk '{ print $1 " (AS " $2 ", pods " $4 ")" }' <<<"$row")"
		start_node $row
	done < <(rows node)
	for name in $(names node); do
		until_true "underlayd of $name answers" 20 underlayc_of "$name" show status
	done
	say "Making the pods, with the CNI plugin"
	for name in $(names pod); do
		cni ADD "$name" >"$lab_run/$name.result" 2>&1 || not_true "CNI ADD for $name works: $(cat "$lab_run/$name.result")"
		note "$name on $(node_of "$name"): $(pod_address "$name")"
	done
}

lab_explore() {
	say "The lab stays up. To look around (as root):"
	indent <<-END
		./setup lab shell n1       then, inside:
		    underlayc show peers               sessions; with a name, everything about one
		    underlayc show routes              what is known, what is used, what the kernel acknowledged
		    underlayc show pods                who has which address
		    ip route show proto 171            the kernel's side of it
		    cat \$LAB/underlay.yaml             its configuration; \$LAB/underlayd.log is its log
		./setup lab shell tor-a    birdc show protocols        birdc show route all
		./setup lab shell tor-b    vtysh -c 'show bgp summary' vtysh -c 'show ip route'
		./setup lab shell n1-p1    ip address; ip route; ping $(pod_address n3-p2)
		./setup lab down           removes all of it
	END
}

lab_summary() {
	say "What was shown:"
	indent <<-END
		Three nodes with underlayd exchanged pod prefixes with a BIRD and a FRR switch, and their kernels route by them.
		All $pairs pairs of pods, and of pods and nodes, reach each other.
		On the wire these are plain IP packets from pod address to pod address, neither encapsulated nor translated.
		With a switch dead its routes were gone after $gone_ms ms (hold time ${hold_time} s), $switch_lost of $switch_sent packets between dual-homed nodes were lost, and with the switch back so are the routes.
		With underlayd killed and started again no packet of $daemon_sent was lost, no route changed, and every pod is known.
	END
}

lab_shell() { # NAME
	need_root "entering a namespace" "lab shell $1"
	[ -e "/run/netns/$lab_prefix$1" ] ||
		die "there is no $1 in the lab; it has: $(ls /run/netns 2>/dev/null | sed -n "s/^$lab_prefix//p" | tr '\n' ' ')(./setup lab starts it)"
	export LAB=$lab_run/$1 LAB_NAME=$1 PATH="$top:$PATH"
	[ -d "$LAB" ] || LAB=$lab_run/$(node_of "$1")
	export UNDERLAY_SOCKET=$LAB/control
	# The programs of a switch and a node, each told where its own socket is; exported, so that they
	# also work in a shell that is not interactive:  echo 'underlayc show peers' | ./setup lab shell n1
	underlayc() { command underlayc -s "$UNDERLAY_SOCKET" "$@"; }
	birdc() { command birdc -s "$LAB/bird.ctl" "$@"; }
	vtysh() { command vtysh --vty_socket "$LAB" "$@"; }
	export -f underlayc birdc vtysh
	exec ip netns exec "$lab_prefix$1" bash --rcfile "$top/lab/shellrc"
}
