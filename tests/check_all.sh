# ./setup check: every build, every test, one line at the end. Sourced by setup.
#
# Counted are: each Check test of each unit program, each other program of `make check` (the fuzz
# corpora, the layering check), each pytest case, and each build. What could not run counts as skipped or,
# where its own program or build failed, as failed; nothing that did not run is ever a pass.
passed=0 failed=0 skipped=0
failures=() skips=()
net_time_limit=1500

count() { # SUITE PASSED FAILED SKIPPED
	passed=$((passed + $2)) failed=$((failed + $3)) skipped=$((skipped + $4))
	note "$1: $2 passed, $3 failed, $4 skipped"
}
failure() { failures+=("$1 (${2#"$top"/})"); }

# --- builds beside the one in the source tree

# Their sources are a mirror without object files (see configure_top), kept with its times so that a
# second run only compiles what changed.
mirror_sources() {
	rm -rf build/src && mkdir -p build/src
	list_sources | tar -c --no-recursion -T - -f - | tar -x -C build/src -f -
}
list_sources() {
	{
		if [ -e .git ] && command -v git >/dev/null; then
			git -c safe.directory="$top" ls-files --cached --others --exclude-standard
		else
			find . -path ./build -prune -o -path ./autom4te.cache -prune -o -type f ! -name '*.[oa]' \
				! -name '*.trs' ! -name '*.log' ! -path '*/.deps/*' ! -path '*/.git/*' \
				! -path './underlay*' ! -name Makefile ! -name 'config.*' ! -name stamp-h1 -print
		fi
		printf '%s\n' configure Makefile.in aclocal.m4 config.h.in build-aux/*
	} | sed 's,^\./,,' | sort -u | while read -r file; do
		[ ! -f "$file" ] || printf '%s\n' "$file"
	done
}

# build_beside NAME WHAT CONFIGURE-ARGUMENT...: build/NAME, from the mirror, with the test programs.
build_beside() {
	local name=$1 what=$2
	shift 2
	mkdir -p "build/$name"
	attempt "Configuring build/$name: $what" "$name-configure.log" \
		sh -c 'cd "$0" && exec ../src/configure --quiet "$@"' "build/$name" "$@" &&
		attempt "Building build/$name" "$name-make.log" make_all "build/$name"
}
make_all() { make -C "$1" -j "$jobs" && make -C "$1" -j "$jobs" check TESTS=; }

# builds NAME LOG: counts a build as one test.
built() { # NAME STATUS LOG
	if [ "$2" = 0 ]; then
		count "build $1" 1 0 0
	else
		show_end_of "$3"
		failure "build $1" "$3"
		count "build $1" 0 1 0
	fi
}
log_of_build() { # NAME: the last one written
	ls -t "$logs/$1"-*.log | sed -n 1p
}

# --- make check

# make_check SUITE DIRECTORY: runs and counts by what each program left behind (.trs, .log).
make_check() {
	local suite=$1 dir=$2 log=$logs/$3-check.log status=0 trs
	find "$dir/tests" -name '*.trs' -delete
	attempt "make check in ${dir#./}" "$3-check.log" env "${sanitizer_env[@]}" make -C "$dir" -j "$jobs" check || status=$?
	ok=0 bad=0 not=0
	while read -r trs; do
		count_program "$suite" "${trs%.trs}"
	done < <(find "$dir/tests" -name '*.trs' | sort)
	if [ $((ok + bad + not)) = 0 ] || { [ "$status" != 0 ] && [ "$bad" = 0 ]; }; then
		bad=$((bad + 1))
		failure "$suite: make check" "$log"
		show_end_of "$log"
	fi
	count "$suite" "$ok" "$bad" "$not"
}

# A unit program says "100%: Checks: 12, Failures: 0, Errors: 0" for each of its suites.
count_program() { # SUITE PATH-WITHOUT-EXTENSION
	local result checks wrong
	result=$(sed -n 's/^:test-result: *//p' "$2.trs" | sed -n 1p)
	read -r checks wrong < <(sed -n 's/^[0-9]*%: Checks: \([0-9]*\), Failures: \([0-9]*\), Errors: \([0-9]*\)$/\1 \2 \3/p' \
		"$2.log" 2>/dev/null | awk '{ n += $1; w += $2 + $3 } END { print n + 0, w + 0 }')
	case $result in
	PASS)
		ok=$((ok + (checks ? checks : 1)))
		return
		;;
	SKIP)
		not=$((not + 1))
		skips+=("$1: ${2##*/}: $(tail -n 1 "$2.log")")
		return
		;;
	esac
	[ "$wrong" != 0 ] || wrong=1
	ok=$((ok + (checks > wrong ? checks - wrong : 0))) bad=$((bad + wrong))
	failure "$1: ${2##*/}" "$2.log"
	show_end_of "$2.log" 30
}

# --- pytest

# The tests mostly wait (for timers, for a switch to start), so there are more of them at once than processors.
# Tests that share what they have started (tests/interop) say so by a group and stay together.
# net_tests SUITE LOG-NAME PROGRAM-DIRECTORY TEST-DIRECTORY PYTEST-ARGUMENT...
net_tests() {
	local suite=$1 name=$2 programs=$3 directory=$4 status=0 tests wrong errors left line
	shift 4
	rm -f "$logs/$name.xml"
	attempt "Tests of $suite with the programs in ${programs#"$top"/} (each . is a test)" "$name.log" \
		env UNDERLAY_BUILD="$programs" PYTHONDONTWRITEBYTECODE=1 timeout -k 60 "$net_time_limit" \
		/usr/bin/python3 -m pytest -p no:cacheprovider -n $((2 * jobs)) --dist loadgroup -q -rfEs --tb=short \
		--junitxml="$logs/$name.xml" "$@" "$directory" || status=$?
	if [ ! -s "$logs/$name.xml" ]; then
		failure "$suite: pytest did not finish (status $status)" "$logs/$name.log"
		show_end_of "$logs/$name.log"
		count "$suite" 0 1 0
		return
	fi
	read -r tests wrong errors left < <(suite_numbers "$logs/$name.xml")
	while read -r line; do
		failure "$suite: ${line%% - *}" "$logs/$name.log"
	done < <(grep -E '^(FAILED|ERROR) ' "$logs/$name.log")
	while read -r line; do
		skips+=("$suite: $line")
	done < <(grep '^SKIPPED ' "$logs/$name.log")
	wrong=$((wrong + errors))
	if [ "$status" != 0 ] && [ "$wrong" = 0 ]; then
		wrong=1
		failure "$suite: pytest ended with status $status" "$logs/$name.log"
	fi
	[ "$wrong" = 0 ] || show_end_of "$logs/$name.log" 40
	count "$suite" "$((tests > wrong + left ? tests - wrong - left : 0))" "$wrong" "$left"
}
suite_numbers() { # XML: tests failures errors skipped
	local key
	for key in tests failures errors skipped; do
		grep -o '<testsuite [^>]*>' "$1" | sed -n "s/.* $key=\"\([0-9]*\)\".*/\1/p" | sed -n 1p
	done | tr '\n' ' '
	echo
}

# What a route costs, counted under callgrind and compared with what is recorded: the same on a busy machine.
instructions_test() {
	local status=0
	attempt "Instructions a prefix" instructions.log tests/bench/run instructions --check || status=$?
	if [ "$status" = 0 ]; then
		count "instructions" 1 0 0
	else
		show_end_of "$logs/instructions.log"
		failure "instructions: a route costs more than tests/bench/instructions.txt says" "$logs/instructions.log"
		count "instructions" 0 1 0
	fi
}

# The lab dies with status 1 as soon as something it shows is not true. This one stands beside a lab
# that you may have running, and is taken down again.
lab_test() {
	local status=0
	export UNDERLAY_LAB_PREFIX=ulcheck-
	attempt "The lab" lab.log ./setup lab || status=$?
	./setup lab down >>"$logs/lab.log" 2>&1 || status=$?
	unset UNDERLAY_LAB_PREFIX
	if [ "$status" = 0 ]; then
		count "lab" 1 0 0
	else
		show_end_of "$logs/lab.log" 40
		failure "lab" "$logs/lab.log"
		count "lab" 0 1 0
	fi
}

check_main() {
	local began=$SECONDS status name
	need_root "the network tests make namespaces" check
	install_packages "${build_packages[@]}" "${lab_packages[@]}" "${check_packages[@]}"
	sanitizer_env=(ASAN_OPTIONS=detect_leaks=1:exitcode=99 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1:exitcode=99)

	configure_top_for_check
	status=0
	attempt "Building in $top with gcc, warnings are errors" top-make.log make_all . || status=$?
	built "gcc" "$status" "$logs/top-make.log"
	if [ "$status" = 0 ]; then
		make_check "unit, fuzz, layers" . top
		instructions_test
		lab_test
	fi

	mirror_sources
	status=0
	# Without --enable-werror: under -fsanitize=undefined gcc sees conversions that are not in the source.
	build_beside asan "gcc with address and undefined behaviour sanitizers" --enable-sanitizers || status=$?
	built "gcc with sanitizers" "$status" "$(log_of_build asan)"
	if [ "$status" = 0 ]; then
		make_check "unit, fuzz, layers with sanitizers" build/asan asan
		net_tests "network with sanitizers" net-asan "$top/build/asan" tests/net
		net_tests "interop with sanitizers" interop "$top/build/asan" tests/interop
	fi
	if [ -x underlayd ]; then
		net_tests "network, the essential ones as shipped" net-plain "$top" tests/net -m essential
		net_tests "User-Mode Linux" uml "$top" tests/uml
	fi

	status=0
	build_beside clang "clang, and libFuzzer for the fuzz targets" CC=clang --enable-werror --enable-fuzzer || status=$?
	built "clang" "$status" "$(log_of_build clang)"
	status=0
	build_beside coverage "gcc for coverage" --enable-coverage || status=$?
	built "gcc for coverage" "$status" "$(log_of_build coverage)"

	say "All of it took $((SECONDS - began)) s; the logs are in build/log/"
	if ((${#skips[@]})); then
		say "Not run:"
		printf '    %s\n' "${skips[@]}"
	fi
	if ((${#failures[@]})); then
		say "Failed:"
		printf '    %s\n' "${failures[@]}"
	fi
	printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
	[ "$failed" = 0 ]
}

# The build in the source tree keeps its objects between runs, if it was one with --enable-werror.
configure_top_for_check() {
	if [ -f config.status ] && [ -f Makefile ]; then
		if ./config.status --config | grep -e --enable-werror >/dev/null; then
			return
		fi
		step "Clearing a build that let warnings pass" clean.log make clean
	fi
	configure_top --enable-werror
}
