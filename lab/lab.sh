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
		shift
		lab_shell "$@"
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
	break_link
	break_kernel
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
		    underlayc show kernel              does the kernel have what it should, and what was repaired
		    underlayc show nexthops            the next-hop objects that the routes share
		    underlayc show host                what this host's settings lack
		    ip route show proto 171            the kernel's side of it
		    cat \$LAB/underlay.yaml             its configuration; \$LAB/underlayd.log is its log
		./setup lab shell n1 underlayc show peers      one command, without a shell
		./setup lab shell          lists where one can go
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
		With the BGP process of a switch killed its routes were gone after $gone_ms ms, $switch_lost of $switch_sent packets between dual-homed nodes were lost, and with the process back so are the routes.
		With the link to that switch down its routes were gone after $link_ms ms (the hold time is $hold_time s), $link_lost of $link_sent packets were lost, and the traffic went on over the other switch.
		With a route of ours deleted from the kernel it was back after $repair_ms ms, $repair_lost of $repair_sent packets were lost.
		With underlayd killed and started again no packet of $daemon_sent was lost, no route changed, and every pod is known.
	END
}

lab_names() { # of what is up, one a line
	local name
	for name in $(names switch) $(names node) $(names pod); do
		[ ! -e "/run/netns/$lab_prefix$name" ] || echo "$name"
	done
}

# offer NAME COMMAND...: a program NAME that is COMMAND with what follows. No function of the shell: this one also works
# behind watch, timeout or sh -c.
offer() {
	local file=$LAB/bin/$1
	shift
	printf '#!/bin/bash\nexec%s "$@"\n' "$(printf ' %q' "$@")" >"$file.new"
	chmod 755 "$file.new"
	mv "$file.new" "$file" # at once: another shell may be using it
}

# The programs that can be used at NAME, each told where its own socket is.
offer_programs() { # NAME
	local client=
	mkdir -p "$LAB/bin"
	case $(row_of switch "$1" | awk '{ print $2 }') in
	bird)
		client="birdc show protocols"
		offer birdc "$(command -v birdc)" -s "$LAB/bird.ctl"
		;;
	frr)
		client="vtysh -c 'show bgp summary'"
		offer vtysh "$(command -v vtysh)" --vty_socket "$LAB"
		;;
	*) offer underlayc "$top/underlayc" -s "$LAB/control" ;;
	esac
	[ -z "$client" ] || offer underlayc bash -c 'echo "$0" >&2; exit 1' "$1 is a switch and runs no underlayd; it has: $client"
	export PATH="$LAB/bin:$top:$PATH"
}

lab_shell() { # [NAME [COMMAND...]]
	local name=${1:-} up
	up=$(lab_names | tr '\n' ' ')
	[ -n "$up" ] || die "the lab is not up${name:+, and so there is no $name}: sudo ./setup lab starts it"
	if [ -z "$name" ]; then
		say "A shell, or a command, in one of these: sudo ./setup lab shell NAME [COMMAND...]"
		note "$up"
		return
	fi
	shift
	need_root "entering a namespace" "lab shell $name"
	[[ " $up" = *" $name "* ]] || die "there is no $name in the lab; it has: $up"
	export LAB=$lab_run/$name LAB_NAME=$name
	[ -d "$LAB" ] || LAB=$lab_run/$(node_of "$name")
	offer_programs "$name"
	if (($#)); then
		exec ip netns exec "$lab_prefix$name" bash -c '"$@"' bash "$@"
	fi
	exec ip netns exec "$lab_prefix$name" bash --rcfile "$top/lab/shellrc"
}
