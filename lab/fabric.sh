# The lab's wires: namespaces, links, addresses, and their removal. Sourced by lab.sh. Every namespace
# is named ul-NAME, everything on disk is under $lab_run, every process started has a pid file there.
# With another prefix ./setup check runs a lab of its own beside yours.
lab_prefix=${UNDERLAY_LAB_PREFIX:-ul-}
lab_run=/run/underlay-lab${UNDERLAY_LAB_PREFIX:+-${UNDERLAY_LAB_PREFIX%-}}

# rows KIND: the lines of lab/topology of that kind, without the kind.
rows() { sed -n "s/^$1[ \t]\{1,\}//p" "$top/lab/topology"; }
names() { rows "$1" | awk '{ print $1 }'; }
is_a() { [ -n "$(row_of "$1" "$2")" ]; } # KIND NAME
# found: like grep -q, but reads to the end: with pipefail, a writer that is cut short would count as "no".
found() { grep "$@" >/dev/null; }
row_of() { rows "$1" | awk -v name="$2" '$1 == name'; }
node_of() { row_of pod "$1" | awk '{ print $2 }'; }
node_address() { row_of node "$1" | awk '{ print $3 }'; }

in_ns() { # NAME COMMAND...
	local name=$1
	shift
	ip netns exec "$lab_prefix$name" "$@"
}

lab_namespaces() { names pod; names node; names switch; }

make_namespace() {
	ip netns add "$lab_prefix$1"
	ip -n "$lab_prefix$1" link set lo up
}

make_router() {
	make_namespace "$1"
	in_ns "$1" sysctl -q -w net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0
}

# A switch names its ports after what is plugged in; a node has eth0, eth1 in the order of the links.
make_link() { # SWITCH ADDRESS PEER ADDRESS
	local port="to-$3" other="to-$1"
	if is_a node "$3"; then
		other=eth$(ip -n "$lab_prefix$3" -o link show type veth | wc -l)
	fi
	ip -n "$lab_prefix$1" link add "$port" type veth peer name "$other" netns "$lab_prefix$3"
	ip -n "$lab_prefix$1" address add "$2/30" dev "$port"
	ip -n "$lab_prefix$3" address add "$4/30" dev "$other"
	ip -n "$lab_prefix$1" link set "$port" up
	ip -n "$lab_prefix$3" link set "$other" up
}

# What an installer gives a node: its own address, and a default route over every uplink. And what a
# switch's configuration says about the node: where its address is. Everything about pods is BGP's.
give_static_routes() {
	local node address uplinks switch here peer there
	while read -r node _ address _; do
		ip -n "$lab_prefix$node" address add "$address/32" dev lo
		uplinks=()
		while read -r switch here peer there; do
			[ "$peer" = "$node" ] || continue
			uplinks+=(nexthop via "$here")
			ip -n "$lab_prefix$switch" route add "$address/32" via "$there"
		done < <(rows link)
		ip -n "$lab_prefix$node" route add default "${uplinks[@]}"
	done < <(rows node)
}

make_fabric() {
	local name row
	for name in $(names switch) $(names node); do
		make_router "$name"
	done
	for name in $(names pod); do
		make_namespace "$name"
	done
	while read -r row; do
		make_link $row
	done < <(rows link)
	give_static_routes
}

# Only a process that lives in the lab's own namespace is ended: a pid file may be old.
stop_by_pid_file() { # FILE SIGNAL
	local pid name
	pid=$(cat "$1" 2>/dev/null) || return 0
	name=$(basename "$(dirname "$1")")
	if [ -n "$pid" ] && [ "$(ip netns identify "$pid" 2>/dev/null)" = "$lab_prefix$name" ]; then
		kill "-$2" "$pid" 2>/dev/null || true
		until_gone "$pid"
	fi
	rm -f "$1"
}

until_gone() { # PID: ten seconds to end by itself, then none
	local i
	for ((i = 0; i < 100; i++)); do
		kill -0 "$1" 2>/dev/null || return 0
		sleep 0.1
	done
	kill -KILL "$1" 2>/dev/null || true
}

remove_fabric() {
	local file name left
	for file in "$lab_run"/*/*.pid; do
		[ ! -e "$file" ] || stop_by_pid_file "$file" TERM
	done
	for name in $(lab_namespaces); do
		[ -e "/run/netns/$lab_prefix$name" ] || continue
		left=$(ip netns pids "$lab_prefix$name" | tr '\n' ' ')
		[ -z "$left" ] || note "process $left still holds namespace $lab_prefix$name open (a shell?); it is left alone"
		ip netns delete "$lab_prefix$name"
	done
	rm -rf "$lab_run"
}
