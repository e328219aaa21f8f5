# The lab's programs: one configuration each, and how to start it. Sourced by lab.sh. The files made
# here are good examples to copy from; they stay in /run/underlay-lab/NAME until the lab goes down.

# bgp_links NAME: "MY-ADDRESS PEER PEER-ADDRESS PEER-ASN" for each neighbour of a switch or node.
bgp_links() {
	local switch here peer there
	while read -r switch here peer there; do
		[ "$switch" != "$1" ] || echo "$here $peer $there $(asn_of "$peer")"
		[ "$peer" != "$1" ] || echo "$there $switch $here $(asn_of "$switch")"
	done < <(rows link)
}
asn_of() {
	local asn
	asn=$(row_of node "$1" | awk '{ print $2 }')
	[ -n "$asn" ] || asn=$(row_of switch "$1" | awk '{ print $3 }')
	echo "$asn"
}

write_underlay_yaml() { # NODE ASN ADDRESS CIDR
	local here peer there asn
	cat <<-END
		node: {name: $1, asn: $2, router-id: $3, addresses: [$3]}
		pods: {cidrs: [$4], cluster-cidrs: [10.244.0.0/16]}
		peers:
	END
	while read -r here peer there asn; do
		echo "  - {name: $peer, address: $there, asn: $asn, hold-time: 9s}"
	done < <(bgp_links "$1")
	echo "paths: {run: $lab_run/$1, state: $lab_run/$1/state}"
}

write_bird_conf() { # SWITCH ASN ROUTER-ID
	local here peer there asn
	cat <<-END
		log "$lab_run/$1/bird.log" all;
		router id $3;
		protocol device { scan time 2; }
		protocol direct { ipv4; }
		protocol kernel {
			merge paths on limit 16;
			learn;			# the node addresses that stand in this switch's own configuration
			ipv4 { import all; export where source != RTS_DEVICE; };
		}
		template bgp neighbor_of_ours {
			hold time 9;
			connect retry time 2;
			connect delay time 1;
			error wait time 1, 5;
		}
	END
	while read -r here peer there asn; do
		cat <<-END
			protocol bgp '$peer' from neighbor_of_ours {
				local $here as $2;
				neighbor $there as $asn;
				ipv4 { import $(bird_import "$peer"); export all; };
			}
		END
	done < <(bgp_links "$1")
}
# A node may announce pod prefixes and nothing else; the other switch may announce anything.
bird_import() {
	if is_a node "$1"; then
		echo 'where net ~ [ 10.244.0.0/16{16,28} ]'
	else
		echo all
	fi
}

write_zebra_conf() { printf 'hostname %s\n' "$1"; }

write_bgpd_conf() { # SWITCH ASN ROUTER-ID
	local here peer there asn
	cat <<-END
		hostname $1
		ip prefix-list pods seq 5 permit 10.244.0.0/16 le 28
		router bgp $2
		 bgp router-id $3
		 no bgp ebgp-requires-policy
		 bgp bestpath as-path multipath-relax
		 timers bgp 3 9
	END
	while read -r here peer there asn; do
		cat <<-END
			 neighbor $there remote-as $asn
			 neighbor $there description $peer
			 neighbor $there advertisement-interval 0
			 neighbor $there timers connect 2
		END
	done < <(bgp_links "$1")
	cat <<-END
		 address-family ipv4 unicast
		  redistribute connected
		  redistribute kernel
		  maximum-paths 16
	END
	while read -r here peer there asn; do
		! is_a node "$peer" || echo "  neighbor $there prefix-list pods in"
	done < <(bgp_links "$1")
	echo " exit-address-family"
}

# quietly LOG COMMAND...: what a program says while it starts is only shown when it does not start.
quietly() {
	local log=$1
	shift
	"$@" >"$log" 2>&1 || die "$1 does not start: $(cat "$log")"
}

start_bird() { # SWITCH ASN ROUTER-ID
	local dir=$lab_run/$1
	write_bird_conf "$@" >"$dir/bird.conf"
	quietly "$dir/bird.start" in_ns "$1" bird -c "$dir/bird.conf" -s "$dir/bird.ctl" -P "$dir/bird.pid"
}

start_frr() { # SWITCH ASN ROUTER-ID
	local dir=$lab_run/$1 common
	write_zebra_conf "$@" >"$dir/zebra.conf"
	write_bgpd_conf "$@" >"$dir/bgpd.conf"
	chown -R frr:frr "$dir"
	common=(-d -P 0 -z "$dir/zserv.api" --vty_socket "$dir")
	quietly "$dir/zebra.start" in_ns "$1" /usr/lib/frr/zebra "${common[@]}" -f "$dir/zebra.conf" -i "$dir/zebra.pid" --log "file:$dir/zebra.log"
	quietly "$dir/bgpd.start" in_ns "$1" /usr/lib/frr/bgpd "${common[@]}" -f "$dir/bgpd.conf" -i "$dir/bgpd.pid" --log "file:$dir/bgpd.log"
}

start_switch() { # NAME SOFTWARE ASN ROUTER-ID
	mkdir -p "$lab_run/$1"
	"start_$2" "$1" "$3" "$4"
}

start_node() { # NAME ASN ADDRESS CIDR
	local dir=$lab_run/$1
	mkdir -p "$dir/state"
	write_underlay_yaml "$@" >"$dir/underlay.yaml"
	"$top/underlayd" --check -c "$dir/underlay.yaml" >"$dir/check.log" 2>&1 ||
		die "underlayd refuses the lab's own configuration: $(cat "$dir/check.log")"
	setsid ip netns exec "$lab_prefix$1" "$top/underlayd" -f -c "$dir/underlay.yaml" >>"$dir/underlayd.log" 2>&1 </dev/null &
	echo $! >"$dir/underlayd.pid"
	disown
}

underlayc_of() { # NODE ARGUMENT...
	local node=$1
	shift
	"$top/underlayc" -s "$lab_run/$node/control" "$@"
}

# cni VERB POD: what a container runtime does, with the same environment and the same standard input.
cni() {
	local node
	node=$(node_of "$2")
	in_ns "$node" env CNI_COMMAND="$1" CNI_CONTAINERID="lab-$2" CNI_NETNS="/run/netns/$lab_prefix$2" CNI_IFNAME=eth0 \
		CNI_PATH="$top" CNI_ARGS="K8S_POD_NAMESPACE=lab;K8S_POD_NAME=$2" "$top/underlay" <<-END
			{"cniVersion": "1.0.0", "name": "underlay", "type": "underlay", "runDir": "$lab_run/$node"}
		END
}

pod_address() { ip -n "$lab_prefix$1" -4 -o address show dev eth0 | awk '{ sub("/.*", "", $4); print $4 }'; }
address_of() { # pod or node
	if is_a node "$1"; then node_address "$1"; else pod_address "$1"; fi
}
