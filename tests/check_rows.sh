#!/bin/bash
# Every row of tests/error_rows.txt, the malformed messages and the common mistakes that are known of BGP speakers, is
# named by a unit test: in a table as {"38", ...} (or with others, {"m5 58", ...}), or in a comment as "row 88". A mistake's name
# ("m20") means nothing else and may stand anywhere.
# Runs in `make check` with $srcdir set. First it looks for a row that no list has, so that it cannot rot into a check
# that finds everything.
set -euo pipefail
export LC_ALL=C
cd "${srcdir:-.}"

named() { # ROW
	local pattern="\{\"([m0-9]+ )*$1( [^\"]*)?\",|\brow $1\b"
	[[ $1 != m* ]] || pattern="\b$1\b"
	grep -qE "$pattern" tests/unit/*.[ch]
}

if named 999; then
	echo "check_rows: finds what is not there"
	exit 1
fi
missing=0 count=0
for row in $(grep -v '^#' tests/error_rows.txt); do
	count=$((count + 1))
	named "$row" || { echo "check_rows: no unit test names row $row"; missing=1; }
done
echo "check_rows: $count rows"
[ "$count" -gt 80 ] && [ "$missing" = 0 ]
