#!/bin/bash
# The rules of docs/architecture.md that a compiler does not see, checked in `make check`:
#
#   arrows  a room includes only what it may (its own headers, src/base, and the few named below)
#   pure    a file not named *_io.c has no descriptor, clock, randomness, environment or logging:
#           by its includes, and by the undefined symbols of its object in the room's archive
#   conf    only the configuration room, its loader and apply.c know the shape of the configuration
#   size    no function over 100 lines, no .c file over 1000
#
# Runs in a build directory with $srcdir set. Every run first plants one violation of each kind in a
# scratch tree and fails if one goes unseen, so that this check cannot rot into one that finds nothing.
set -euo pipefail
export LC_ALL=C

rooms='src/base bgp bfd rib netlink ipam conf kube'
# What a room may include besides itself and src/base.
declare -A may_use=([rib]='bgp/attr.h' [netlink]='rib/route.h rib/fibdiff.h')
impure_headers='time.h sys/time.h sys/timerfd.h unistd.h fcntl.h poll.h sys/poll.h sys/epoll.h sys/select.h
	sys/stat.h sys/mman.h sys/un.h sys/ioctl.h sys/random.h sys/uio.h sys/file.h dirent.h signal.h sys/signalfd.h
	pthread.h syslog.h netdb.h ifaddrs.h sched.h ev.h lmdb.h curl/curl.h'
# Undefined symbols that a pure object must not have; a leading "__" and a trailing "_chk", "64" or
# "_2" are dropped before the look-up (fortified and sanitized builds).
impure_symbols='^(open|openat|creat|close|read|write|pread|pwrite|readv|writev|lseek|pipe2?|dup[23]?|fcntl|ioctl|mmap'
impure_symbols+='|unlink(at)?|rename(at)?|mkdir(at)?|rmdir|stat|lstat|fstat|fstatat|opendir|readdir|ftruncate|fsync|flock'
impure_symbols+='|socket|socketpair|connect|bind|listen|accept4?|shutdown|send|sendto|sendm?msg|recv|recvfrom|recvm?msg'
impure_symbols+='|setsockopt|getsockopt|getsockname|getpeername|getaddrinfo|gethostname|if_nametoindex|if_indextoname'
impure_symbols+='|poll|ppoll|select|pselect|epoll_.*|timerfd_.*|signalfd|eventfd|inotify_.*|ev_.*'
impure_symbols+='|time|clock|clock_gettime|clock_nanosleep|gettimeofday|nanosleep|u?sleep|localtime(_r)?|getpid'
impure_symbols+='|getrandom|getentropy|random|srandom|rand|srand|rand_r|[dlm]rand48|arc4random.*'
impure_symbols+='|printf|vprintf|fprintf|vfprintf|dprintf|vdprintf|puts|fputs|putchar|fputc|putc|fwrite|fread|fopen|fdopen'
impure_symbols+='|fclose|fflush|fgets|getline|perror|scanf|fscanf|stdout|stderr|stdin|getenv|secure_getenv|setenv'
impure_symbols+='|fork|vfork|execv.*|system|popen|posix_spawn.*|kill|signal|sigaction|exit|_exit|pthread_.*'
impure_symbols+='|v?syslog|log_.*|clock_now|mdb_.*|mnl_socket_.*|curl_.*)$'
function_lines_max=100
file_lines_max=1000

# Each check prints "KIND file: what" lines about the tree $1 (and the build $2) and nothing else.

sources_of() { # TREE ROOM
	[ ! -d "$1/$2" ] || find "$1/$2" -maxdepth 1 -name '*.[ch]' | sort
}

quoted_includes() { sed -n 's/^[ \t]*#[ \t]*include[ \t]*"\([^"]*\)".*/\1/p' "$1"; }
angle_includes() { sed -n 's/^[ \t]*#[ \t]*include[ \t]*<\([^>]*\)>.*/\1/p' "$1"; }
is_edge() { [[ $1 == *_io.[ch] || $1 == *_io.o ]]; }

check_arrows() { # TREE
	local room file header allowed
	for room in $rooms; do
		for file in $(sources_of "$1" "$room"); do
			for header in $(quoted_includes "$file"); do
				case " ${may_use[$room]:-} " in *" $header "*) continue ;; esac
				case $header in
				config.h | src/base/*.h) ;;
				"$room"/*.h) ;;
				*) echo "arrow ${file#"$1"/}: $room may not include \"$header\"" ;;
				esac
			done
		done
	done
}

check_pure_includes() { # TREE
	local room file header
	for room in $rooms; do
		for file in $(sources_of "$1" "$room"); do
			is_edge "$file" && continue
			for header in $(quoted_includes "$file"); do
				! is_edge "$header" || echo "pure ${file#"$1"/}: includes the edge \"$header\""
			done
			for header in $(angle_includes "$file"); do
				! grep -qxF -- "$header" <<<"$(printf '%s\n' $impure_headers)" ||
					echo "pure ${file#"$1"/}: includes <$header>"
			done
		done
	done
}

has_pure_code() { # TREE ROOM
	sources_of "$1" "$2" | grep '\.c$' | grep -v '_io\.c$' >/dev/null # not -q: the writers must not be cut short
}

# "archive:member symbol" for every undefined symbol, the fortifier's and sanitizers' marks dropped.
undefined_symbols() { # ARCHIVE
	nm -A -u "$1" | sed -E 's/^[^:]*:([^:]*):[ \t]*[Uw][ \t]+(.*)$/\1 \2/; s/@.*//' |
		sed -E 's/ (__isoc[0-9]+_|__)?([a-z].*)$/ \2/; s/(_chk|64|_2)$//'
}

check_pure_symbols() { # TREE BUILD
	local room archive member symbol
	for room in $rooms; do
		has_pure_code "$1" "$room" || continue
		archive=$2/$room/lib${room##*/}.a
		if [ ! -f "$archive" ]; then
			echo "pure $room: there is no ${archive#"$2"/} to look into"
			continue
		fi
		while read -r member symbol; do
			is_edge "$member" && continue
			[[ ! $symbol =~ $impure_symbols ]] || echo "pure $room/${member%.o}.c: uses $symbol"
		done < <(undefined_symbols "$archive")
	done
}

check_conf() { # TREE
	local file
	for file in $(find "$1/src" -name '*.c' | sort); do
		case ${file#"$1"/} in src/daemon/apply*.c | src/daemon/main.c | src/daemon/daemon.c) continue ;; esac
		! quoted_includes "$file" | grep '^conf/' >/dev/null ||
			echo "conf ${file#"$1"/}: only src/daemon/apply.c translates configuration"
	done
}

# In this style a function's body opens and closes with a brace in the first column.
check_size() { # TREE
	local room dirs=()
	for room in src bgp bfd rib netlink ipam conf kube; do
		[ ! -d "$1/$room" ] || dirs+=("$1/$room")
	done
	find "${dirs[@]}" -name '*.[ch]' | sort | xargs -r awk -v max="$function_lines_max" -v most="$file_lines_max" -v tree="$1/" '
		function place(f) { return substr(f, length(tree) + 1) }
		function end_file() { if (file ~ /\.c$/ && lines > most) print "size " place(file) ": " lines " lines, at most " most }
		FNR == 1 { end_file(); file = FILENAME }
		{ lines = FNR }
		/^\{/ { start = FNR }
		/^\}/ && start {
			if (FNR - start + 1 > max)
				print "size " place(FILENAME) ":" start ": a function of " FNR - start + 1 " lines, at most " max
			start = 0
		}
		END { end_file() }'
}

violations() { # TREE BUILD
	check_arrows "$1"
	check_pure_includes "$1"
	check_pure_symbols "$1" "$2"
	check_conf "$1"
	check_size "$1"
}

# --- the check of the check

plant() { # FILE TEXT
	mkdir -p "$scratch/$(dirname "$1")"
	printf '%b' "$2" >"$scratch/$1"
}

plant_archive() { # ROOM FILE...
	local room=$1 objects=() file
	shift
	for file; do
		${CC:-cc} -D_GNU_SOURCE -O2 -w -I"$scratch" -c "$scratch/$room/$file.c" -o "$scratch/$room/$file.o"
		objects+=("$scratch/$room/$file.o")
	done
	ar rc "$scratch/$room/lib${room##*/}.a" "${objects[@]}"
}

long_text() { # COUNT
	local i
	for ((i = 0; i < $1; i++)); do printf 'x();\\n'; done
}

plant_clean_tree() {
	plant src/base/addr.h 'int addr_len(int);\n'
	plant bgp/attr.h '#include "src/base/addr.h"\n'
	plant bgp/wire.c '#include "bgp/attr.h"\n#include <stdio.h>\nint w(char *b, int n)\n{\n\treturn snprintf(b, 9, "%d", n);\n}\n'
	plant rib/path.c '#include "bgp/attr.h"\n#include "src/base/addr.h"\nint p(void)\n{\n\treturn addr_len(1);\n}\n'
	plant ipam/store_io.c '#include <unistd.h>\nlong s(void)\n{\n\treturn write(1, "x", 1);\n}\n'
	plant src/daemon/apply.c '#include "conf/conf.h"\n'
	plant_archive bgp wire
	plant_archive rib path
}

plant_violations() {
	plant bgp/up.c '#include "rib/rib.h"\n'
	plant rib/deep.c '#include "bgp/wire.h"\n'
	plant netlink/up.h '# include "rib/table.h"\n'
	plant conf/edge.c '#include "src/base/log_io.h"\n'
	plant ipam/clock.c '#include <time.h>\n'
	plant kube/nothing.c 'int k;\n'
	plant bfd/write.c '#include <stdio.h>\nint b(int c)\n{\n\treturn printf("%d", c);\n}\n'
	plant bfd/now.c 'long time(long *);\nlong n(void)\n{\n\treturn time(0);\n}\n'
	plant src/client/show.c '#include "conf/conf.h"\n'
	plant src/cni/long.c "void f(void)\n{\n$(long_text 120)}\n"
	plant src/cni/big.c "$(long_text 1001)"
	plant_archive bfd write now
}

expected='arrow bgp/up.c: bgp may not include "rib/rib.h"
arrow netlink/up.h: netlink may not include "rib/table.h"
arrow rib/deep.c: rib may not include "bgp/wire.h"
conf src/client/show.c: only src/daemon/apply.c translates configuration
pure bfd/now.c: uses time
pure bfd/write.c: uses printf
pure conf/edge.c: includes the edge "src/base/log_io.h"
pure conf: there is no conf/libconf.a to look into
pure ipam/clock.c: includes <time.h>
pure ipam: there is no ipam/libipam.a to look into
pure kube: there is no kube/libkube.a to look into
size src/cni/big.c: 1001 lines, at most 1000
size src/cni/long.c:2: a function of 122 lines, at most 100'

check_itself() {
	local found
	scratch=$(mktemp -d)
	trap 'rm -rf "$scratch"' EXIT
	plant_clean_tree
	found=$(violations "$scratch" "$scratch")
	if [ -n "$found" ]; then
		printf 'check_layers: the self-test has complaints about a clean tree:\n%s\n' "$found"
		return 1
	fi
	plant_violations
	found=$(violations "$scratch" "$scratch" | sort)
	if [ "$found" != "$expected" ]; then
		echo "check_layers: the self-test did not find what was planted (< expected, > found):"
		diff <(echo "$expected") <(echo "$found") || true
		return 1
	fi
	echo "check_layers: self-test: $(wc -l <<<"$expected") planted violations were all found"
}

count_functions() { # TREE
	find "$1" -name '*.c' -not -path '*/build/*' | xargs -r awk '
		/^\{/ { start = FNR }
		/^\}/ && start { n++; l = FNR - start + 1; if (l > 50) over++; if (l < 15) small++; start = 0 }
		END { printf "%d functions, %d under 15 lines, %d over 50\n", n, small, over }'
}

check_itself
tree=$(cd "${srcdir:-.}" && pwd)
found=$(violations "$tree" "$PWD")
echo "check_layers: $(count_functions "$tree")"
if [ -n "$found" ]; then
	printf 'check_layers: %s violations:\n%s\n' "$(wc -l <<<"$found")" "$found"
	exit 1
fi
echo "check_layers: no violation"
