# What the lab shows, and how it makes sure that it is true: each function prints what it sees and
# dies when it is not what it claims. Sourced by lab.sh.

hold_time=9

# until_true WHAT SECONDS COMMAND...: asks again and again, a dot each second.
until_true() {
	local what=$1 limit=$2 began dots=0 now
	shift 2
	began=$(millis)
	printf '    waiting until %s ' "$what"
	until "$@" >/dev/null 2>&1; do
		now=$(($(millis) - began))
		if ((now > limit * 1000)); then
			printf ' no\n'
			not_true "$what (waited $limit s)"
		fi
		if ((now / 1000 > dots)); then
			dots=$((now / 1000))
			printf .
		fi
		sleep 0.05
	done
	took_ms=$(($(millis) - began))
	printf ' yes, after %d.%d s\n' $((took_ms / 1000)) $((took_ms % 1000 / 100))
}
millis() { date +%s%3N; }

not_true() {
	printf '\nsetup lab: this is not true: %s\n' "$*" >&2
	cat >&2 <<-END
		The lab is left as it is. Look at it with  ./setup lab shell n1  and in $lab_run/*/*.log;
		remove it with  ./setup lab down
	END
	exit 1
}
claim() { # WHAT COMMAND...
	local what=$1
	shift
	"$@" >/dev/null 2>&1 || not_true "$what"
}

indent() { sed 's/^/    /'; }
show() { # COMMAND...: the command as one would type it in a node's shell, then what it says
	printf '    # %s\n' "$1"
	shift
	"$@" 2>&1 | indent
}

# --- sessions and routes

established() { # NODE COUNT
	[ "$(underlayc_of "$1" -j show peers | jq -s '[flatten[] | select(.state == "Established")] | length')" = "$2" ]
}
peers_of() { bgp_links "$1" | wc -l; }
ribs_agree() { # NODE: every other node's pods are routed by the kernel
	local node
	for node in $(names node); do
		[ "$node" = "$1" ] || routed "$1" "$(row_of node "$node" | awk '{ print $4 }')" || return 1
	done
}
next_hops() { # NODE PREFIX
	ip -n "$lab_prefix$1" -j route show proto 171 exact "$2" | jq '[.[] | select(.gateway) , .nexthops[]?] | length'
}
routed() { [ "$(next_hops "$1" "$2")" -gt 0 ]; }
routed_ways() { [ "$(next_hops "$1" "$2")" = "$3" ]; } # NODE PREFIX COUNT
via() { ip -n "$lab_prefix$1" route show proto 171 | found -w "via $2"; } # NODE GATEWAY
not_via() { ! via "$@"; }
blackhole_covers() { ip -n "$lab_prefix$1" route show proto 171 | found "^blackhole $2"; } # NODE PREFIX
neither_via_tor_a() { not_via n1 172.31.11.1 && not_via n2 172.31.12.1; }
both_ways_again() { routed_ways n1 10.244.2.0/24 2 && routed_ways n2 10.244.1.0/24 2; }

wait_for_fabric() {
	local node
	for node in $(names node); do
		until_true "$node has $(peers_of "$node") established session(s)" 60 established "$node" "$(peers_of "$node")"
	done
	for node in $(names node); do
		until_true "the kernel of $node has a route to every other node's pods" 30 ribs_agree "$node"
	done
	until_true "n1 and n2 have each other over both switches" 30 both_ways_again
}

show_node() {
	say "Node n1: its sessions, what it knows, and what its kernel does with it"
	show "underlayc show peers" underlayc_of n1 show peers
	show "underlayc show routes" underlayc_of n1 show routes
	show "underlayc show pods" underlayc_of n1 show pods
	show "ip route show proto 171" ip -n "${lab_prefix}n1" route show proto 171
	claim "the pod prefix of n1 is covered by a blackhole route" \
		blackhole_covers n1 10.244.1.0/24
	claim "n1 knows two pods" [ "$(underlayc_of n1 -j show pods | jq -s 'flatten | length')" = 2 ]
}

# --- who reaches whom

ping_pair() { # FROM TO: 0 when all three came back
	in_ns "$1" ping -n -q -c 3 -i 0.2 -W 2 "${addresses[$2]}" >"$pings/$1.$2" 2>&1 || return 1
	grep -q ' 0% packet loss' "$pings/$1.$2"
}
ping_row() { # FROM: all destinations at once
	local to
	for to in $(names pod) $(names node); do
		wanted_pair "$1" "$to" || continue
		{ ping_pair "$1" "$to" && echo ok >"$pings/$1.$to.result"; } &
	done
	wait
}
# Pods to all pods and nodes, nodes to all pods. (Node to node is not ours: there were routes before.)
wanted_pair() {
	[ "$1" != "$2" ] && { is_a pod "$1" || is_a pod "$2"; }
}

ping_everyone() {
	local from to failed=0 done=0 cell
	declare -gA addresses=()
	pings=$(mktemp -d)
	for to in $(names pod) $(names node); do
		addresses[$to]=$(address_of "$to")
		claim "$to has an address" test -n "${addresses[$to]}"
	done
	for from in $(names pod) $(names node); do
		ping_row "$from" &
	done
	wait
	printf '    %-8s%-13s' "" "to"
	for to in $(names pod) $(names node); do printf '%-7s' "$to"; done
	printf '\n'
	for from in $(names pod) $(names node); do
		printf '    %-8s%-13s' "$from" "${addresses[$from]}"
		for to in $(names pod) $(names node); do
			cell=-
			if wanted_pair "$from" "$to"; then
				cell=ok done=$((done + 1))
				[ -e "$pings/$from.$to.result" ] || { cell=LOST failed=$((failed + 1)); }
			fi
			printf '%-7s' "$cell"
		done
		printf '\n'
	done
	[ "$failed" = 0 ] || not_true "every pod and node answers ($failed of $done pairs do not; see $pings)"
	rm -rf "$pings"
	pairs=$done
	note "$pairs of $pairs directed pairs: 3 of 3 packets each"
}

# --- what the packets look like on the way

start_capture() { # NAME DEVICE FILE
	: >"$3.err" # it is looked at before tcpdump is there
	ip netns exec "$lab_prefix$1" tcpdump -l -n --immediate-mode -i "$2" 'ip and not tcp port 179' >"$3" 2>"$3.err" </dev/null &
	captures+=($!)
	until_captured "$3.err" 'listening on'
}
until_captured() { # FILE PATTERN
	local i
	for ((i = 0; i < 100; i++)); do
		! grep -q "$2" "$1" || return 0
		sleep 0.1
	done
	not_true "tcpdump sees \"$2\" (in $1)"
}

show_plain_packets() {
	local dir from to file pid lines=0 captures=()
	dir=$(mktemp -d)
	from=$(pod_address n1-p1) to=$(pod_address n2-p1)
	say "Pod n1-p1 ($from) pings pod n2-p1 ($to); tcpdump on every port of both switches, and inside n2-p1"
	start_capture tor-a any "$dir/tor-a"
	start_capture tor-b any "$dir/tor-b"
	start_capture n2-p1 eth0 "$dir/n2-p1"
	in_ns n1-p1 ping -n -q -c 3 -i 0.2 "$to" >/dev/null || not_true "n1-p1 reaches n2-p1"
	until_captured "$dir/n2-p1" "echo reply.*seq 3"
	for pid in "${captures[@]}"; do
		kill -TERM "$pid" && wait "$pid" || true
	done
	for file in tor-a tor-b n2-p1; do
		sed -i '/^$/d' "$dir/$file"
		[ -s "$dir/$file" ] || continue
		printf '    # %s\n' "$file"
		indent <"$dir/$file"
		lines=$((lines + $(wc -l <"$dir/$file")))
	done
	# One packet inside another would be seen here with the nodes' addresses, as "IP a > b: IP ..." or as UDP.
	claim "all packets on the switches are plain ICMP between $from and $to" \
		no_other_packet "$dir" "$from" "$to"
	claim "the request passed a switch" grep -hq "IP $from > $to: ICMP echo request" "$dir/tor-a" "$dir/tor-b"
	claim "n2-p1 sees the address n1-p1 has" grep -q "IP $from > $to: ICMP echo request" "$dir/n2-p1"
	note "$lines packets, all plain IP from pod address to pod address: nothing is encapsulated, no address is translated"
	rm -rf "$dir"
}
no_other_packet() { # DIR A B
	! cat "$1/tor-a" "$1/tor-b" "$1/n2-p1" | grep -vE "IP ($2 > $3|$3 > $2): ICMP echo (request|reply), "
}

# --- a ping that runs while things break

start_ping() { # FROM TO
	ping_log=$(mktemp)
	ip netns exec "$lab_prefix$1" stdbuf -oL ping -n -i 0.02 "$(pod_address "$2")" >"$ping_log" 2>&1 </dev/null &
	ping_pid=$!
	until_replies 25
}
replies() { grep -c 'bytes from' "$ping_log" || true; }
enough_replies() { [ "$(replies)" -ge "$1" ]; }
until_replies() { # that many more than now
	until_true "$1 more answers came" 20 enough_replies $(($(replies) + $1))
}
# Lost is what is missing in the sequence up to the last answer (one may be on its way at the end).
stop_ping() {
	kill -INT "$ping_pid" && wait "$ping_pid" || true
	read -r ping_sent ping_lost < <(sed -n 's/.*icmp_seq=\([0-9]*\) .*/\1/p' "$ping_log" | sort -un |
		awk '{ last = $1 } END { print last, last - NR }')
	rm -f "$ping_log"
}

break_switch() {
	say "The BGP process of tor-a is killed: kill -9 of BIRD, under a ping from n1-p1 to n2-p1 every 20 ms"
	show "ip route show proto 171" ip -n "${lab_prefix}n1" route show proto 171
	start_ping n1-p1 n2-p1
	kill -KILL "$(cat "$lab_run/tor-a/bird.pid")"
	note "(the kernel of tor-a closes the dead process's TCP connections, so the nodes hear of it at once)"
	until_true "no route of n1 and n2 goes through tor-a" "$hold_time" neither_via_tor_a
	gone_ms=$took_ms
	show "ip route show proto 171" ip -n "${lab_prefix}n1" route show proto 171
	claim "n1 still has the pods of n2, through tor-b" routed n1 10.244.2.0/24
	show "underlayc show peers" underlayc_of n1 show peers
	until_replies 50
	say "BIRD of tor-a starts again"
	rm -f "$lab_run/tor-a/bird.pid" "$lab_run/tor-a/bird.ctl"
	start_switch $(row_of switch tor-a)
	until_true "n1 and n2 have each other over both switches" 60 both_ways_again
	until_replies 50
	stop_ping
	switch_sent=$ping_sent switch_lost=$ping_lost
	show "ip route show proto 171" ip -n "${lab_prefix}n1" route show proto 171
	note "$switch_lost of $switch_sent packets were lost from before the death to after the return"
	# A packet each 20 ms: more than one second of silence would be a path that did not fail over.
	claim "traffic between the dual-homed nodes went on" [ "$switch_lost" -le 50 ]
}

only_tor_b_leads_to_n1() { not_via n1 172.31.11.1 && routed_ways n2 10.244.1.0/24 1; }

# The other way to lose a switch: nobody closes anything, the wire is dead. n1 sees its carrier go.
break_link() {
	say "The link from tor-a to n1 goes down, under a ping from n1-p1 to n2-p1 every 20 ms"
	start_ping n1-p1 n2-p1
	ip -n "${lab_prefix}tor-a" link set to-n1 down
	until_true "no route of n1 goes through tor-a, and n2 reaches n1's pods through tor-b alone" $((hold_time * 2)) \
		only_tor_b_leads_to_n1
	link_ms=$took_ms
	show "ip link show eth0" ip -n "${lab_prefix}n1" link show eth0
	show "ip route show proto 171" ip -n "${lab_prefix}n1" route show proto 171
	show "underlayc show peers" underlayc_of n1 show peers
	until_replies 50
	say "The link is up again"
	ip -n "${lab_prefix}tor-a" link set to-n1 up
	# what tor-a's own configuration says of n1 went with the port
	ip -n "${lab_prefix}tor-a" route replace "$(node_address n1)/32" via 172.31.11.2
	until_true "n1 and n2 have each other over both switches" 60 both_ways_again
	until_replies 50
	stop_ping
	link_sent=$ping_sent link_lost=$ping_lost
	note "the routes were gone $link_ms ms after the link; $link_lost of $link_sent packets were lost on the whole"
}

repaired() { [ "$(underlayc_of n1 -j show kernel | jq '.repaired.taken')" -ge "$1" ]; } # COUNT
all_routes_again() { both_ways_again && ribs_agree n1 && blackhole_covers n1 10.244.1.0/24; }

# What a careless hand or a network manager does to the kernel of a node.
break_kernel() {
	say "Somebody takes routes away from n1's kernel, under a ping from n1-p1 to n2-p1 every 20 ms"
	show "underlayc show nexthops" underlayc_of n1 show nexthops || true # an old kernel has none, and it says so
	start_ping n1-p1 n2-p1
	note "# ip route delete 10.244.2.0/24"
	ip -n "${lab_prefix}n1" route delete 10.244.2.0/24
	until_true "the route is back" 10 routed_ways n1 10.244.2.0/24 2
	repair_ms=$took_ms
	note "# ip nexthop flush proto 171                   (the kernel drops the routes that lead to them)"
	ip -n "${lab_prefix}n1" nexthop flush proto 171 >/dev/null 2>&1 || true # "No such file": a group goes with its last member
	until_true "all routes are back" 10 all_routes_again
	until_true "the daemon has counted what was taken" 10 repaired 1
	until_replies 50
	stop_ping
	repair_sent=$ping_sent repair_lost=$ping_lost
	show "underlayc show nexthops" underlayc_of n1 show nexthops || true
	show "underlayc show kernel" underlayc_of n1 show kernel
	show "grep kernel: underlayd.log" grep kernel: "$lab_run/n1/underlayd.log"
	claim "n1's kernel has all that it should have" [ "$(underlayc_of n1 -j show kernel differences | jq -s 'flatten | length')" = 0 ]
	note "$repair_lost of $repair_sent packets were lost (what came meanwhile went by n1's default route)"
}

daemon_gone() { ! underlayc_of "$1" show status; }
pods_known() { # NODE FILE
	underlayc_of "$1" -j show pods | jq -S -s 'flatten | map({address, container, interface}) | sort' >"$2"
}
same_pods() { pods_known "$1" "$2.now" && cmp -s "$2" "$2.now"; }

break_daemon() {
	local dir
	dir=$(mktemp -d)
	say "n1 loses its daemon: kill -9 of underlayd, under a ping from n1-p1 to n2-p1 every 20 ms"
	pods_known n1 "$dir/pods"
	ip -n "${lab_prefix}n1" route show proto 171 >"$dir/routes"
	ip netns exec "${lab_prefix}n1" ip -4 -o monitor route >"$dir/events" 2>&1 </dev/null &
	local monitor=$!
	start_ping n1-p1 n2-p1
	kill -KILL "$(cat "$lab_run/n1/underlayd.pid")"
	until_true "underlayc says that the daemon is not there" 10 daemon_gone n1
	until_replies 100
	ip -n "${lab_prefix}n1" route show proto 171 | cmp -s - "$dir/routes" || not_true "the routes stay without the daemon"
	say "underlayd of n1 starts again"
	start_node $(row_of node n1)
	until_true "n1 has $(peers_of n1) established sessions" 60 established n1 "$(peers_of n1)"
	until_true "it knows all its pods" 10 same_pods n1 "$dir/pods"
	until_true "n1 and n2 have each other over both switches" 30 both_ways_again
	until_replies 100
	stop_ping
	kill "$monitor" && wait "$monitor" || true
	daemon_sent=$ping_sent daemon_lost=$ping_lost
	show "underlayc show pods" underlayc_of n1 show pods
	ip -n "${lab_prefix}n1" route show proto 171 | diff "$dir/routes" - || not_true "ip route show proto 171 is the same as before"
	! grep -w 'proto 171' "$dir/events" || not_true "no route of ours was changed on the way (ip monitor saw these)"
	note "$daemon_lost of $daemon_sent packets were lost; ip route show proto 171 is the same, ip monitor route saw no change"
	claim "no packet was lost" [ "$daemon_lost" = 0 ]
	rm -rf "$dir"
}
