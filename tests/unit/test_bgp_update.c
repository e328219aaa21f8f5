/* bgp/: path attributes and UPDATEs. What is wrong gets the reaction of RFC 7606, what is right comes through
 * every kind of session unchanged, sets are shared, and prefixes are packed without losing one.
 *
 * A number in `row` is one of the project's list of malformed messages, an "m" before it means the list of common mistakes;
 * tests/error_rows.txt tells where each is tested.
 */
#include "tests/unit/bgp_util.h"
#include "tests/unit/run_suite.h"

/* --- the list of malformed messages */

static const struct malformed malformed[] = {
	{"m1", "nothing wrong", ALL, "O P N", FINE},
	{"m1", "the low four flag bits mean nothing", ALL, "4f 01 01 00 P N", FINE, .kept = 1, .flags = 0x40},
	{"m1", "extended length for a short one", ALL, "50 01 0001 00 P N", FINE, .kept = 1, .flags = 0x40},
	{"1", "ORIGIN with Optional", ALL, "c0 01 01 00 P N", W(4)},
	{"1", "ORIGIN with Partial", ALL, "60 01 01 00 P N", W(4)},
	{"1", "ORIGIN without Transitive", ALL, "00 01 01 00 P N", W(4)},
	{"2", "ORIGIN length 0", ALL, "40 01 00 P N", W(6)},
	{"2", "ORIGIN length 2", ALL, "40 01 02 00 00 P N", W(6)},
	{"2", "ORIGIN 3", ALL, "40 01 01 03 P N", W(6)},
	{"4", "AS_PATH segment type 0", AS4, "O 40 02 06 00 01 0000fbf0 N", W(11)},
	{"4", "AS_PATH segment type 5", AS4, "O 40 02 06 05 01 0000fbf0 N", W(11)},
	{"4", "AS_PATH segment type 0, 2-byte", AS2, "O 40 02 04 00 01 fbf0 N", W(11)},
	{"5", "AS_PATH segment without numbers", AS4, "O 40 02 08 02 01 0000fbf0 02 00 N", W(11)},
	{"5", "AS_PATH of one empty segment", ALL, "O 40 02 02 02 00 N", W(11)},
	{"7", "AS_PATH with an octet behind its last segment", AS4, "O 40 02 07 02 01 0000fbf0 02 N", W(11)},
	{"7", "AS_PATH with an octet behind it, 2-byte", AS2, "O 40 02 05 02 01 fbf0 02 N", W(11)},
	{"7", "AS_PATH segment longer than the attribute", AS4, "O 40 02 06 02 02 0000fbf0 N", W(11)},
	{"m10", "AS_PATH of 2-byte numbers from an AS4 peer", AS4, "O 40 02 04 02 01 fbf0 N", W(11)},
	{"m10", "AS_PATH of 4-byte numbers from an AS2 peer", AS2, "O 40 02 06 02 01 0000fbf0 N", W(11)},
	{"9", "AS_SET", AS4, "O 40 02 0c 02 01 0000fbf0 01 01 0000fbf1 N", W(11)},
	{"9", "AS_CONFED_SET", AS4, "O 40 02 0c 04 01 0000fbf1 02 01 0000fbf0 N", W(11)},
	{"10", "AS_CONFED_SEQUENCE", E4, "O 40 02 0c 03 01 0000fbf1 02 01 0000fbf0 N", W(11)},
	{"10", "AS_CONFED_SEQUENCE, 2-byte", E2, "O 40 02 08 03 01 fbf1 02 01 fbf0 N", W(11)},
	{"7607", "AS 0 in AS_PATH", AS4, "O 40 02 0a 02 02 0000fbf0 00000000 N", W(11)},
	{"7607", "AS 0 in AS_PATH, 2-byte", AS2, "O 40 02 06 02 02 fbf0 0000 N", W(11)},
	{"m24", "our own AS in the path is no fault: the daemon drops the route", AS4, "O 40 02 0a 02 02 0000fbf0 0000fbf4 N", FINE},
	{"12", "first AS is not the peer's", E4, "O 40 02 06 02 01 0000fbf1 N", W(11)},
	{"12", "first AS is not the peer's, 2-byte", E2, "O 40 02 04 02 01 fbf1 N", W(11)},
	{"12", "empty path from outside", EBGP, "O 40 02 00 N", W(11)},
	{"12", "other first AS from inside", I4, "O 40 02 06 02 01 0000fbf1 N", FINE},
	{"12", "empty path from inside", IBGP, "O 40 02 00 N", FINE},
	{"14", "NEXT_HOP length 0", ALL, "O P 40 03 00", W(8)},
	{"14", "NEXT_HOP length 3", ALL, "O P 40 03 03 0a0000", W(8)},
	{"14", "NEXT_HOP length 5", ALL, "O P 40 03 05 0a00000100", W(8)},
	{"15", "NEXT_HOP 0.0.0.0", ALL, "O P 40 03 04 00000000", W(8)},
	{"15", "NEXT_HOP 127.0.0.1", ALL, "O P 40 03 04 7f000001", W(8)},
	{"15", "NEXT_HOP 224.0.0.1", ALL, "O P 40 03 04 e0000001", W(8)},
	{"15", "NEXT_HOP 255.255.255.255", ALL, "O P 40 03 04 ffffffff", W(8)},
	{"15", "MP next hop 0.0.0.0", ALL, "O P 80 0e 0d 0001 01 04 00000000 00 18 0af408", W(8), .nlri = ""},
	{"15", "MP next hop 127.0.0.1", ALL, "O P 80 0e 0d 0001 01 04 7f000001 00 18 0af408", W(8), .nlri = ""},
	{"15", "MP next hop 224.0.0.1", ALL, "O P 80 0e 0d 0001 01 04 e0000001 00 18 0af408", W(8), .nlri = ""},
	{"17", "NEXT_HOP on another subnet: the daemon knows the links", ALL, "O P 40 03 04 c6336401", FINE, .kept = 3, .flags = 0x40},
	{"18", "MED length 0", ALL, "O P N 80 04 00", W(5)},
	{"18", "MED length 3", ALL, "O P N 80 04 03 000001", W(5)},
	{"18", "MED length 5", ALL, "O P N 80 04 05 0000000100", W(5)},
	{"18", "MED with Transitive", ALL, "O P N c0 04 04 00000001", W(4)},
	{"18", "MED is fine", ALL, "O P N 80 04 04 00000001", FINE, .kept = 4, .flags = 0x80},
	{"19", "LOCAL_PREF length 0", IBGP, "O P N 40 05 00", W(5)},
	{"19", "LOCAL_PREF length 3", IBGP, "O P N 40 05 03 000064", W(5)},
	{"19", "LOCAL_PREF length 5", IBGP, "O P N 40 05 05 0000006400", W(5)},
	{"19", "LOCAL_PREF from inside", IBGP, "O P N 40 05 04 00000065", FINE, .kept = 5, .flags = 0x40},
	{"20", "LOCAL_PREF from outside", EBGP, "O P N 40 05 04 00000065", FINE, .gone = 5},
	{"20", "broken LOCAL_PREF from outside", EBGP, "O P N 40 05 03 000064", FINE, .gone = 5},
	{"20", "LOCAL_PREF with wrong flags from outside", EBGP, "O P N c0 05 04 00000065", FINE, .gone = 5},
	{"21", "ATOMIC_AGGREGATE length 1", ALL, "O P N 40 06 01 00", D(5), .gone = 6},
	{"21", "ATOMIC_AGGREGATE is fine", ALL, "O P N 40 06 00", FINE, .kept = 6, .flags = 0x40},
	{"m1", "ATOMIC_AGGREGATE with Partial", ALL, "O P N 60 06 00", W(4)},
	{"22", "AGGREGATOR length 6 from an AS4 peer", AS4, "O P N c0 07 06 fbf0 0a000001", D(9), .gone = 7},
	{"22", "AGGREGATOR length 8 from an AS2 peer", AS2, "O P N c0 07 08 0000fbf0 0a000001", D(9), .gone = 7},
	{"22", "AGGREGATOR length 0", ALL, "O P N c0 07 00", D(9), .gone = 7},
	{"22", "AGGREGATOR without Transitive", AS4, "O P N 80 07 08 0000fbf0 0a000001", W(4)},
	{"23", "AGGREGATOR AS 0", AS4, "O P N c0 07 08 00000000 0a000001", D(9), .gone = 7},
	{"23", "AGGREGATOR AS 0, 2-byte", AS2, "O P N c0 07 06 0000 0a000001", D(9), .gone = 7},
	{"24", "COMMUNITIES length 0", ALL, "O P N c0 08 00", W(9)},
	{"24", "COMMUNITIES length 5", ALL, "O P N c0 08 05 fbf0000100", W(9)},
	{"25", "COMMUNITIES without Transitive", ALL, "O P N 80 08 04 fbf00001", W(4)},
	{"25", "COMMUNITIES with Partial", ALL, "O P N e0 08 04 fbf00001", FINE, .kept = 8, .flags = 0xe0},
	{"26", "ORIGINATOR_ID length 3 from inside", IBGP, "O P N 80 09 03 0a0000", W(5)},
	{"26", "ORIGINATOR_ID length 5 from inside", IBGP, "O P N 80 09 05 0a00000100", W(5)},
	{"26", "ORIGINATOR_ID from inside", IBGP, "O P N 80 09 04 0a000009", FINE, .kept = 9, .flags = 0x80},
	{"26", "ORIGINATOR_ID length 3 from outside", EBGP, "O P N 80 09 03 0a0000", FINE, .gone = 9},
	{"26", "ORIGINATOR_ID from outside", EBGP, "O P N 80 09 04 0a000009", FINE, .gone = 9},
	{"27", "CLUSTER_LIST length 0 from inside", IBGP, "O P N 80 0a 00", W(5)},
	{"27", "CLUSTER_LIST length 6 from inside", IBGP, "O P N 80 0a 06 0a0000010a00", W(5)},
	{"27", "CLUSTER_LIST from outside", EBGP, "O P N 80 0a 06 0a0000010a00", FINE, .gone = 10},
	{"28", "EXT_COMMUNITIES length 0", ALL, "O P N c0 10 00", W(9)},
	{"28", "EXT_COMMUNITIES length 9", ALL, "O P N c0 10 09 0002fbf000000001 00", W(9)},
	{"29", "IPv6 EXT_COMMUNITIES length 0", ALL, "O P N c0 19 00", W(9)},
	{"29", "IPv6 EXT_COMMUNITIES length 21", ALL, "O P N c0 19 15 " TWENTY "14", W(9)},
	{"29", "IPv6 EXT_COMMUNITIES length 20", ALL, "O P N c0 19 14 " TWENTY, FINE, .kept = 25, .flags = 0xc0},
	{"30", "an IPv6 community in EXT_COMMUNITIES", ALL, "O P N c0 10 14 " TWENTY, W(9)},
	{"30", "three that look like IPv6 ones in it", ALL, "O P N c0 10 18 " TWENTY "14151617", FINE, .kept = 16, .flags = 0xc0},
	{"31", "LARGE_COMMUNITIES length 0", ALL, "O P N c0 20 00", W(9)},
	{"31", "LARGE_COMMUNITIES length 13", ALL, "O P N c0 20 0d 000102030405060708090a0b0c", W(9)},
	{"31", "LARGE_COMMUNITIES without Transitive", ALL, "O P N 80 20 0c 000102030405060708090a0b", W(4)},
	{"32", "OTC length 3", ALL, "O P N c0 23 03 00fbff", W(9)},
	{"32", "OTC length 5", ALL, "O P N c0 23 05 0000fbff00", W(9)},
	{"32", "OTC 0", ALL, "O P N c0 23 04 00000000", W(9)},
	{"32", "OTC without Transitive", ALL, "O P N 80 23 04 0000fbff", W(4)},
	{"32", "OTC that claims to be well-known", ALL, "O P N 40 23 04 0000fbff", W(4)},
	{"32", "OTC is fine", ALL, "O P N c0 23 04 0000fbff", FINE, .kept = 35, .flags = 0xc0},
	{"32", "OTC with Partial", ALL, "O P N e0 23 04 0000fbff", FINE, .kept = 35, .flags = 0xe0},
	{"34", "AS4_AGGREGATOR length 7", AS2, "O P N c0 07 06 5ba0 0a000001 c0 12 07 000100000a0000", D(9), .gone = 18,
	 .kept = 7, .flags = 0xc0},
	{"34", "AS4_AGGREGATOR length 9", ALL, "O P N c0 12 09 000100000a00000100", D(9), .gone = 18},
	{"34", "AS4_AGGREGATOR AS 0 (RFC 7607)", AS2, "O P N c0 07 06 5ba0 0a000001 c0 12 08 000000000a000001", D(9), .gone = 18,
	 .kept = 7, .flags = 0xc0},
	{"35", "AS4_PATH from an AS4 peer", AS4, "O P N c0 11 06 02 01 00010000", D(9), .gone = 17},
	{"m10", "broken AS4_PATH from an AS4 peer", AS4, "O P N c0 11 05 07 01 000100", D(9), .gone = 17},
	{"m10", "broken AS4_PATH from an AS2 peer", AS2, "O P N c0 11 05 07 01 000100", D(9), .gone = 17},
	{"m10", "AS4_PATH without Transitive", ALL, "O P N 80 11 06 02 01 00010000", D(4), .gone = 17},
	{"7607", "AS 0 in AS4_PATH", AS2, "O P N c0 11 06 02 01 00000000", D(9), .gone = 17},
	{"36", "AS4_PATH longer than AS_PATH", AS2, "O P N c0 11 0a 02 02 00010000 00010001", FINE, .gone = 17},
	{"m10", "AS4_PATH before AS_PATH", AS2, "c0 11 06 02 01 0000fbf0 O P N", FINE, .gone = 17},
	{"45", "attribute 28 with junk", ALL, "O P N c0 1c 03 abcdef", FINE, .kept = 28, .flags = 0xe0},
	{"45", "attribute 28 with junk, not transitive", ALL, "O P N 80 1c 03 abcdef", FINE, .gone = 28},
	{"46", "unknown optional transitive", ALL, "O P N c0 c8 05 0102030405", FINE, .kept = 200, .flags = 0xe0},
	{"46", "unknown optional transitive, empty", ALL, "O P N c0 ff 00", FINE, .kept = 255, .flags = 0xe0},
	{"46", "unknown optional transitive, Partial already", ALL, "O P N ef c8 01 00", FINE, .kept = 200, .flags = 0xe0},
	{"47", "unknown optional non-transitive", ALL, "O P N 80 c8 05 0102030405", FINE, .gone = 200},
	{"48", "unknown well-known", ALL, "O P N 40 c8 01 00", R(2)},
	{"48", "unknown that is neither", ALL, "O P N 00 c8 01 00", R(2)},
	{"48", "attribute 0", ALL, "O P N 40 00 00", R(2)},
	{"51", "MED twice", ALL, "O P N 80 04 04 00000007 80 04 04 00000008", FINE, .kept = 4, .flags = 0x80},
	{"m2", "ORIGIN twice, the second is broken", ALL, "O P N 40 01 01 09", FINE, .kept = 1, .flags = 0x40},
	{"m2", "ORIGIN twice, the first is broken", ALL, "40 01 01 09 O P N", W(6)},
	{"m2", "an unknown one twice", ALL, "O P N c0 c8 00 c0 c8 00", FINE, .kept = 200, .flags = 0xe0},
	{"52", "MP_REACH twice", ALL, "O P N " MP_V4 MP_V4, R(1)},
	{"52", "MP_UNREACH twice", ALL, "O P N 80 0f 03 0001 01 80 0f 03 0001 01", R(1)},
	{"54", "3 bytes left, extended length", ALL, "O P N d0 c8 00", W(1)},
	{"54", "2 bytes left", ALL, "O P N c0 c8", W(1)},
	{"54", "1 byte left", ALL, "O P N c0", W(1)},
	{"55", "the last attribute's length exceeds the list", ALL, "O P N c0 c8 09 00", W(1)},
	{"55", "the first attribute's length exceeds the list", ALL, "40 01 ff 00", W(1)},
	{"m3 55", "NEXT_HOP exceeds the list", ALL, "O P 40 03 05 0a000001", W(1)},
	{"m5 58", "no attributes but NLRI", ALL, "", W(3)},
	{"60", "no ORIGIN", ALL, "P N", W(3)},
	{"60", "no AS_PATH", ALL, "O N", W(3)},
	{"60", "no NEXT_HOP", ALL, "O P", W(3)},
	{"m8", "an unknown attribute alone", ALL, "c0 c8 00", W(3)},
	{"m7", "MP_REACH needs no NEXT_HOP", ALL, "O P " MP_V4, FINE, .nlri = ""},
	{"m7", "MP_REACH needs ORIGIN", ALL, "P " MP_V4, W(3), .nlri = ""},
	{"m7", "MP_REACH needs AS_PATH", ALL, "O " MP_V4, W(3), .nlri = ""},
	{"m7", "classic NLRI with MP_REACH still need NEXT_HOP", ALL, "O P " MP_V4, W(3), .nlri = "18 0af409",
	 .announced = "10.244.9.0/24 " NET_TEXT},
	{"m7", "both, complete", ALL, "O P N " MP_V4, FINE, .nlri = "18 0af409", .announced = "10.244.9.0/24 " NET_TEXT},
	{"m7", "a NEXT_HOP beside MP_REACH does not matter", ALL, "O P N " MP_V4, FINE, .nlri = ""},
	{"12", "first AS is checked in MP_REACH as well", E4, "O 40 02 06 02 01 0000fbf1 " MP_V4, W(11), .nlri = ""},
	{"m4", "malformed and nothing announced", ALL, "40 01 01 09", R(6), .nlri = "", .announced = ""},
	{"m4", "malformed and only withdrawals", ALL, "40 01 01 09 P N", R(6), .nlri = "", .announced = "", .withdrawn = NET},
	{"m4", "framing broken and nothing announced", ALL, "40 01", R(1), .nlri = "", .announced = ""},
	{"m4", "framing broken behind an MP_UNREACH", ALL, "80 0f 03 0001 01 40", R(1), .nlri = "", .announced = ""},
	{"m4", "discard is still enough", ALL, "O P N 40 06 01 00", D(5), .nlri = "", .announced = ""},
	{"61", "attributes and nothing else", ALL, "O P N", FINE, .nlri = "", .announced = ""},
	/* RFC 4760 section 7 names 3/9 for an incorrect MP attribute */
	{"63", "MP_REACH next hop length 5", ALL, "O P 80 0e 0e 0001 01 05 0a00000100 00 18 0af408", R(9)},
	{"63", "MP_REACH next hop length 0", ALL, "O P 80 0e 09 0001 01 00 00 18 0af408", R(9)},
	{"64", "MP_REACH next hop length 64, 17 left", ALL,
	 "O P 80 0e 15 0001 01 40 0000000000000000000000000000000000", R(9)},
	{"65", "MP_REACH ends within its next hop", ALL, "O P 80 0e 06 0001 01 04 0a00", R(9)},
	{"65", "MP_REACH ends before the reserved octet", ALL, "O P 80 0e 08 0001 01 04 0a000001", R(9)},
	{"69", "MP_REACH reserved octet not 0", ALL, "O P 80 0e 0d 0001 01 04 0a000001 ff 18 0af408", FINE, .nlri = ""},
	{"70", "MP_REACH of 4 bytes", ALL, "O P N 80 0e 04 00010100", R(9)},
	{"70", "MP_REACH of 0 bytes", ALL, "O P N 80 0e 00", R(9)},
	{"70", "MP_UNREACH of 2 bytes", ALL, "O P N 80 0f 02 0001", R(9)},
	{"3c", "MP_REACH with Transitive", ALL, "O P c0 0e 0d 0001 01 04 0a000001 00 18 0af408", W(4), .nlri = ""},
	{"3c", "MP_UNREACH with Transitive, nothing announced", ALL, "c0 0f 07 0001 01 18 0af408", R(4), .nlri = "",
	 .announced = ""},
	{"73", "MP prefix of 33 bits", ALL, "O P 80 0e 0f 0001 01 04 0a000001 00 21 0af4080000", R(9), .nlri = ""},
	{"73", "MP prefix cut", ALL, "O P 80 0e 0c 0001 01 04 0a000001 00 18 0af4", R(9), .nlri = ""},
	{"73", "withdrawn MP prefix cut", ALL, "80 0f 06 0001 01 18 0af4", R(9), .nlri = ""},
	{"72", "prefix of 33 bits", ALL, "O P N", R(10), .nlri = "21 0af4080000"},
	{"72", "prefix of 255 bits", ALL, "O P N", R(10), .nlri = "ff 0af40800000000000000"},
	{"72", "withdrawn prefix of 33 bits", ALL, "", R(10), .nlri = "", .withdrawn = "21 0af4080000"},
	{"72", "prefix cut", ALL, "O P N", R(10), .nlri = NET "18 0af4"},
	{"72", "withdrawn prefix cut", ALL, "", R(10), .nlri = "", .withdrawn = "18"},
	{"74", "host bits", ALL, "O P N", FINE, .nlri = "17 0af4ff 1e 0a000103", .announced = "10.244.254.0/23 10.0.1.0/30"},
	{"75", "not to be routed", ALL, "O P N", FINE,
	 .nlri = "04 e0 20 e0000001 08 7f 18 7f0000 08 00 20 00000001 04 f0 20 ffffffff " NET},
	{"75", "all of them not to be routed", ALL, "O P N", FINE, .nlri = "08 7f", .announced = ""},
	{"75", "the default route and its halves are", ALL, "O P N", FINE, .nlri = "00 01 00 01 80",
	 .announced = "0.0.0.0/0 0.0.0.0/1 128.0.0.0/1"},
	{"76", "MP_REACH of a family that was not negotiated", ALL,
	 "O P 80 0e 1e 0002 01 10 fd000000000000000000000000000001 00 40 fd10024400080000", FINE, .nlri = "", .announced = ""},
	{"76", "MP_REACH of a family that nobody knows", ALL, "O P 80 0e 08 4004 47 00 00 ffffff", FINE, .nlri = "", .announced = ""},
	{"76", "beside what was negotiated", ALL, "O P N 80 0e 08 4004 47 00 00 ffffff", FINE},
	{"76", "MP_UNREACH of a family that was not negotiated", ALL, "80 0f 0a 0002 01 ff ffffffffffff", FINE, .nlri = "",
	 .announced = ""},
	{"76 90", "flowspec NLRI of length 0", ALL, "O P 80 0e 06 0001 85 00 00 00", FINE, .nlri = "", .announced = ""},
	{"76 90", "flowspec NLRI that is too long", ALL, "O P 80 0e 08 0001 85 00 00 f0ff01", FINE, .nlri = "", .announced = ""},
	{"76 90", "labelled NLRI shorter than its label", ALL, "O P 80 0e 0b 0001 04 04 0a000001 00 0801", FINE, .nlri = "", .announced = ""},
	{"78", "a prefix twice", ALL, "O P N", FINE, .nlri = NET NET, .announced = NET_TEXT " " NET_TEXT},
	{"78", "a prefix withdrawn and announced", ALL, "O P N", FINE, .withdrawn = NET},
	{"v6", "MP_REACH", .attrs = "O P 80 0e 1c 0002 01 10" NH6 "00" NET6, FINE, V6_SESSION},
	{"v6", "beside classic NLRI", .attrs = "O P N 80 0e 1c 0002 01 10" NH6 "00" NET6, FINE, .contexts = ALL | V6,
	 .announced = NET_TEXT " " NET6_TEXT},
	{"63", "IPv6 next hop length 9", .attrs = "O P 80 0e 15 0002 01 09 fd0000000000000000 00" NET6, R(9), V6_SESSION},
	{"63", "IPv6 next hop length 4", .attrs = "O P 80 0e 10 0002 01 04 0a000001 00" NET6, R(9), V6_SESSION},
	{"63", "IPv6 next hop length 24", .attrs = "O P 80 0e 24 0002 01 18 0000000000000000" NH6 "00" NET6, R(9), V6_SESSION},
	{"63", "IPv4 next hop length 16", .attrs = "O P 80 0e 19 0001 01 10" NH6 "00" NET, R(9), V6_SESSION},
	{"64", "IPv6 next hop length 64, 17 left", .attrs = "O P 80 0e 15 0002 01 40" NH6 "00", R(9), V6_SESSION},
	{"65", "IPv6 next hop cut", .attrs = "O P 80 0e 0c 0002 01 10 fd00000000000000", R(9), V6_SESSION},
	{"67", "the second next hop is zero", .attrs = "O P 80 0e 2c 0002 01 20" NH6 ZERO6 "00" NET6, FINE, V6_SESSION},
	{"73", "IPv6 prefix of 129 bits", .attrs = "O P 80 0e 27 0002 01 10" NH6 "00 81" NH6 "00", R(9), V6_SESSION},
	{"15", "IPv6 next hop ::", .attrs = "O P 80 0e 1c 0002 01 10" ZERO6 "00" NET6, W(8), V6_SESSION},
	{"15", "IPv6 next hops :: and ::", .attrs = "O P 80 0e 2c 0002 01 20" ZERO6 ZERO6 "00" NET6, W(8), V6_SESSION},
	{"15", "IPv6 next hop ::1", .attrs = "O P 80 0e 1c 0002 01 10 00000000000000000000000000000001 00" NET6, W(8),
	 V6_SESSION},
	{"15", "IPv6 next hop ff02::1", .attrs = "O P 80 0e 1c 0002 01 10 ff020000000000000000000000000001 00" NET6, W(8),
	 V6_SESSION},
	{"75", "IPv6 not to be routed: multicast, link-local, mapped",
	 .attrs = "O P 80 0e 32 0002 01 10" NH6 "00 08 ff 0a fe80 78 00000000000000000000ffff0a0000 00" NET6, FINE,
	 .contexts = ALL | V6, .nlri = "", .announced = "::/0 " NET6_TEXT},
};

START_TEST(malformed_updates_get_their_reaction)
{
	for (unsigned c = 1; c < ALL; c <<= 1)
		if (malformed[_i].contexts & c)
			check_row(&malformed[_i], c | (malformed[_i].contexts & V6));
}
END_TEST

/* Each beginning of each row, and each row with one byte changed: only read, never believed beyond its end. */
START_TEST(damaged_updates_are_only_read)
{
	const struct malformed *m = &malformed[_i];
	uint8_t body[BGP_MESSAGE_MAX];
	struct bgp_update u;
	unsigned c = E4 | (m->contexts & V6);
	size_t len = put_body(body, sizeof body, c, m->withdrawn ? m->withdrawn : "", m->attrs, m->nlri ? m->nlri : NET);
	for (size_t cut = 0; cut < len; cut++) {
		uint8_t *bytes = decode_bytes(c, body, cut, &u);
		bgp_update_fini(&u);
		free(bytes);
	}
	for (size_t at = 0; at < len; at++) {
		for (unsigned bit = 0; bit < 8; bit++) {
			body[at] ^= (uint8_t)(1u << bit);
			uint8_t *bytes = decode_bytes(c, body, len, &u);
			bgp_update_fini(&u);
			free(bytes);
			body[at] ^= (uint8_t)(1u << bit);
		}
	}
}
END_TEST

static const struct {
	const char *row, *body;
} overruns[] = {
	{"56 attributes past the message", "0000 0005 40010100"},
	{"56 no room for their length", "0000 00"},
	{"57 withdrawn routes past the message", "0005 180af408 0000"},
	{"57 nothing", ""},
	{"57 withdrawn routes eat the other length", "0004 180af408"},
};

START_TEST(lengths_past_the_message_reset)
{
	uint8_t body[64];
	struct writer w = writer_of(body, sizeof body);
	struct bgp_update u;
	put_hex(&w, overruns[_i].body, E4);
	uint8_t *bytes = decode_bytes(E4, body, writer_len(&w), &u);
	ck_assert_msg(u.fault.reaction == BGP_RESET, "%s", overruns[_i].row);
	ck_assert_uint_eq(u.fault.code, BGP_ERR_UPDATE);
	ck_assert_uint_eq(u.fault.subcode, BGP_UPDATE_ATTR_LIST);
	bgp_update_fini(&u);
	free(bytes);
}
END_TEST

/* m6, 61: the end of a RIB, and what only looks like one */
static const struct {
	const char *withdrawn, *attrs, *nlri;
	bool v6, end;
	enum bgp_family family;
} ends[] = {
	{"", "", "", false, true, BGP_IPV4_UNICAST},
	{"", "80 0f 03 0001 01", "", false, true, BGP_IPV4_UNICAST},
	{"", "90 0f 0003 0001 01", "", false, true, BGP_IPV4_UNICAST},
	{"", "80 0f 03 0002 01", "", true, true, BGP_IPV6_UNICAST},
	{"", "80 0f 03 0002 01", "", false, false, 0}, /* not negotiated */
	{"", "80 0f 03 0001 02", "", false, false, 0}, /* unknown */
	{"", "80 0f 07 0001 01" NET, "", false, false, 0},
	{"", "80 0f 06 0001 01 08 7f 00", "", false, false, 0}, /* nothing that we route, but no end either */
	{NET, "", "", false, false, 0},
	{"", "O P N", NET, false, false, 0},
	{"", "O", "", false, false, 0},
	{"", "80 c8 00", "", false, false, 0},
	{"", "O 80 0f 03 0001 01", "", false, false, 0},
	{"", "80 0f 03 0001 01 80 c8 00", "", false, false, 0},
	{"", "80 0e 09 0001 01 04 0a000001 00", "", false, false, 0},
	{"", "80 0f 03 0001 01 80 0e 09 0001 01 04 0a000001 00", "", false, false, 0},
	{NET, "80 0f 03 0001 01", "", false, false, 0},
	{"", "O P N 80 0f 03 0001 01", NET, false, false, 0},
};

START_TEST(the_end_of_a_rib_is_told_from_lookalikes)
{
	uint8_t body[128];
	struct bgp_update u;
	struct bgp_update_context ctx = context_of(E4);
	ctx.families[BGP_IPV6_UNICAST] = ends[_i].v6;
	size_t len = put_body(body, sizeof body, E4, ends[_i].withdrawn, ends[_i].attrs, ends[_i].nlri);
	bgp_update_decode(&ctx, body, len, &u);
	ck_assert_int_eq(u.end_of_rib, ends[_i].end);
	if (ends[_i].end)
		ck_assert_int_eq(u.end_of_rib_family, ends[_i].family);
	bgp_update_fini(&u);
}
END_TEST

START_TEST(what_is_withdrawn_is_withdrawn)
{
	struct bgp_update u;
	char text[256] = "", mp[256] = "";
	uint8_t *bytes = decode(E4, "18 0af408 00 20 0a000001", "80 0f 07 0001 01 18 0af409", "", &u);
	ck_assert_int_eq(u.fault.reaction, BGP_FINE);
	list_prefixes(u.part[0].withdrawn, text, sizeof text);
	list_prefixes(u.part[1].withdrawn, mp, sizeof mp);
	ck_assert_str_eq(text, "10.244.8.0/24 0.0.0.0/0 10.0.0.1/32");
	ck_assert_str_eq(mp, "10.244.9.0/24");
	bgp_update_fini(&u);
	free(bytes);
}
END_TEST

START_TEST(unroutable_prefixes_are_counted)
{
	struct bgp_update u;
	struct prefix p;
	unsigned skipped = 0, seen = 0;
	uint8_t *bytes = decode(E4, "", "O P N", "04 e0 " NET "08 7f 08 00", &u);
	struct bgp_nlri n = u.part[0].announced;
	while (bgp_nlri_next(&n, &p, &skipped))
		seen++;
	ck_assert_uint_eq(seen, 1);
	ck_assert_uint_eq(skipped, 3);
	bgp_update_fini(&u);
	free(bytes);
}
END_TEST

/* What goes into a NOTIFICATION, and the attribute that is named, are the fault's own. */
START_TEST(faults_name_their_attribute)
{
	struct bgp_update u;
	uint8_t *bytes = decode(E4, "", "O P N 40 c8 02 abcd", NET, &u);
	ck_assert_uint_eq(u.fault.attr, 200);
	ck_assert_uint_eq(u.fault.data_len, 5);
	ck_assert_mem_eq(u.fault.data, "\x40\xc8\x02\xab\xcd", 5);
	bgp_update_fini(&u);
	free(bytes);
	bytes = decode(E4, "", "O N", NET, &u);
	ck_assert_uint_eq(u.fault.attr, BGP_ATTR_AS_PATH);
	ck_assert_uint_eq(u.fault.data_len, 1);
	ck_assert_uint_eq(u.fault.data[0], BGP_ATTR_AS_PATH);
	bgp_update_fini(&u);
	free(bytes);
	bytes = decode(E4, "", "O P 80 04 01 00", NET, &u); /* and no NEXT_HOP, found later */
	ck_assert_uint_eq(u.fault.subcode, BGP_UPDATE_LENGTH);
	ck_assert_uint_eq(u.fault.attr, BGP_ATTR_MED);
	bgp_update_fini(&u);
	free(bytes);
	bytes = decode(E4, "", "O 40 02 06 02 01 0000fbf1 N 40 06 01 00", NET, &u);
	ck_assert_uint_eq(u.fault.subcode, BGP_UPDATE_AS_PATH);
	ck_assert_uint_eq(u.fault.attr, 0);
	bgp_update_fini(&u);
	free(bytes);
}
END_TEST

/* --- 2-byte sessions: RFC 6793 section 4.2.3 */

static const struct {
	const char *what, *attrs, *set; /* from an AS2 peer inside */
} merges[] = {
	{"no AS4_PATH", "O 40 02 08 02 03 fbf0 5ba0 fbf1 N", "0 [64496 23456 64497] 10.0.0.1 - 100"},
	{"as long", "O 40 02 06 02 02 5ba0 fbf1 N c0 11 0a 02 02 00010000 0000fbf1", "0 [65536 64497] 10.0.0.1 - 100"},
	{"shorter", "O 40 02 08 02 03 fbf0 5ba0 fbf1 N c0 11 0a 02 02 00010000 0000fbf1",
	 "0 [64496 65536 64497] 10.0.0.1 - 100"},
	{"longer: not used", "O 40 02 04 02 01 5ba0 N c0 11 0a 02 02 00010000 0000fbf1", "0 [23456] 10.0.0.1 - 100"},
	{"in front of AS_PATH", "c0 11 06 02 01 00010000 O 40 02 06 02 02 fbf0 5ba0 N", "0 [64496 65536] 10.0.0.1 - 100"},
	{"cut within a segment", "O 40 02 0e 02 02 fbf0 fbf1 02 03 fbf2 5ba0 5ba0 N c0 11 0a 02 02 00010000 00010001",
	 "0 [64496 64497 64498 65536 65537] 10.0.0.1 - 100"},
	{"cut between segments", "O 40 02 0a 02 01 fbf0 02 02 5ba0 5ba0 N c0 11 0a 02 02 00010000 00010001",
	 "0 [64496 65536 65537] 10.0.0.1 - 100"},
	{"empty AS4_PATH", "O 40 02 04 02 01 5ba0 N c0 11 00", "0 [23456] 10.0.0.1 - 100"},
	{"empty AS_PATH", "O 40 02 00 N c0 11 06 02 01 00010000", "0 [] 10.0.0.1 - 100"},
	{"broken AS4_PATH", "O 40 02 04 02 01 5ba0 N c0 11 05 02 01 000100", "0 [23456] 10.0.0.1 - 100"},
	{"aggregated by a new speaker", "O P N c0 07 06 5ba0 0a000009 c0 12 08 00010000 0a000009",
	 "0 [64496] 10.0.0.1 - 100 7/c0=000100000a000009"},
	{"aggregated by an old one since: both new ones are stale",
	 "O 40 02 04 02 01 5ba0 N c0 07 06 fbf1 0a000009 c0 12 08 00010000 0a000001 c0 11 06 02 01 00010000",
	 "0 [23456] 10.0.0.1 - 100 7/c0=0000fbf10a000009"},
	{"aggregated by a new speaker with a short number: AS4_PATH counts",
	 "O 40 02 04 02 01 5ba0 N c0 07 06 fbf1 0a000009 c0 11 06 02 01 00010000",
	 "0 [65536] 10.0.0.1 - 100 7/c0=0000fbf10a000009"},
	{"AS4_AGGREGATOR alone", "O 40 02 04 02 01 5ba0 N c0 12 08 00010000 0a000001 c0 11 06 02 01 00010000",
	 "0 [65536] 10.0.0.1 - 100"},
	{"AS_TRANS without the new one", "O P N c0 07 06 5ba0 0a000009", "0 [64496] 10.0.0.1 - 100 7/c0=00005ba00a000009"},
	{"broken AGGREGATOR", "O P N c0 07 05 fbf1 0a0000 c0 12 08 00010000 0a000001", "0 [64496] 10.0.0.1 - 100"},
	{"Partial stays", "O P N e0 07 06 fbf1 0a000009", "0 [64496] 10.0.0.1 - 100 7/e0=0000fbf10a000009"},
};

START_TEST(two_byte_paths_are_merged)
{
	struct bgp_update u;
	char text[512];
	uint8_t *bytes = decode(I2, "", merges[_i].attrs, NET, &u);
	ck_assert_msg(u.fault.reaction <= BGP_DISCARD, "%s: %s", merges[_i].what, u.fault.text);
	ck_assert_ptr_nonnull(u.part[0].attrs);
	describe(u.part[0].attrs, text, sizeof text);
	ck_assert_msg(strcmp(text, merges[_i].set) == 0, "%s: %s", merges[_i].what, text);
	bgp_update_fini(&u);
	free(bytes);
}
END_TEST

/* The IPv4 block alone; 0 where it does not fit. */
static size_t export_block(const struct bgp_attrs *a, const struct bgp_export *e, uint8_t *block, size_t cap)
{
	struct bgp_words words;
	return bgp_attrs_export(a, e, BGP_IPV4_UNICAST, block, cap, &words) ? words.len : 0;
}

/* An UPDATE from an AS2 peer with a path of n different numbers; the length of its body. */
static size_t put_long_path(uint8_t *body, size_t cap, unsigned n)
{
	struct writer w = writer_of(body, cap);
	size_t path_len = 2 * ((n + 254) / 255) + 2 * n;
	writer_u16(&w, 0);
	writer_u16(&w, (uint16_t)(4 + 4 + path_len + 7));
	put_hex(&w, "O 50 02", E2);
	writer_u16(&w, (uint16_t)path_len);
	for (unsigned i = 0; i < n; i++) {
		if (i % 255 == 0) {
			writer_u8(&w, BGP_SEG_SEQUENCE);
			writer_u8(&w, (uint8_t)(n - i < 255 ? n - i : 255));
		}
		writer_u16(&w, (uint16_t)(PEER_AS - i));
	}
	put_hex(&w, "N" NET, E2);
	ck_assert(writer_ok(&w));
	return writer_len(&w);
}

/* m23: a long path doubles, and nothing is lost of it; where the double is too long for any message, its routes go. */
static const struct {
	unsigned numbers;
	bool fits;
} long_paths[] = {{1985, true}, {8000, true}, {16320, true}, {16350, false}, {16400, false}, {20000, false}, {32000, false}};

START_TEST(long_two_byte_paths_double)
{
	static uint8_t body[BGP_EXTENDED_MAX], block[BGP_EXTENDED_MAX];
	struct bgp_update u;
	unsigned n = long_paths[_i].numbers;
	uint8_t *bytes = decode_bytes(E2, body, put_long_path(body, sizeof body, n), &u);
	ck_assert_int_eq(u.fault.reaction, long_paths[_i].fits ? BGP_FINE : BGP_WITHDRAW);
	struct bgp_attrs *a = u.part[0].attrs;
	ck_assert_int_eq(a != NULL, long_paths[_i].fits);
	if (a) {
		ck_assert_uint_eq(a->as_count, n);
		ck_assert_uint_eq(a->as_path_len, 2 * ((n + 254) / 255) + 4 * n);
		for (unsigned i = 0; i < n; i += 97)
			ck_assert_uint_eq(bgp_attrs_count_as(a, PEER_AS - i), 1);
		ck_assert_uint_eq(bgp_attrs_count_as(a, 0), 0);
		/* m21: where it fits no message of the other session it is told */
		struct bgp_export e = {.ibgp = true, .as4 = true, .next_hop_self = {[BGP_IPV4_UNICAST] = addr_from_v4(0x0a000002)}};
		ck_assert_uint_eq(export_block(a, &e, block, a->as_path_len), 0);
		ck_assert_uint_gt(export_block(a, &e, block, sizeof block), 4 * n);
		e.as4 = false;
		ck_assert_uint_gt(export_block(a, &e, block, a->as_path_len), 2 * n);
	}
	bgp_update_fini(&u);
	free(bytes);
}
END_TEST

/* --- there and back */

static size_t export(const struct bgp_attrs *a, unsigned c, uint8_t *block, size_t cap)
{
	struct bgp_export e = {.ibgp = c & IBGP, .as4 = c & AS4, .local_asn = LOCAL_AS,
			       .next_hop_self = {[BGP_IPV4_UNICAST] = addr_from_v4(0x0a000002)}};
	return export_block(a, &e, block, cap);
}

/* What the other end of such a session makes of a. */
static struct bgp_attrs *sent_to(const struct bgp_attrs *a, unsigned c, uint32_t local_asn)
{
	uint8_t block[BGP_MESSAGE_MAX];
	struct bgp_attr_block out;
	struct bgp_attrs *back, *mp;
	struct bgp_export e = {.ibgp = c & IBGP, .as4 = c & AS4, .local_asn = local_asn,
			       .next_hop_self = {[BGP_IPV4_UNICAST] = addr_from_v4(0x0a000002)}};
	size_t len = export_block(a, &e, block, sizeof block);
	ck_assert_uint_gt(len, 0);
	bgp_attrs_decode(&table, (c & IBGP ? BGP_ATTR_IBGP : 0u) | (c & AS2 ? BGP_ATTR_AS2 : 0u), cursor_of(block, len), true,
			 &out, &back, &mp);
	ck_assert_msg(out.fault.reaction == BGP_FINE, "%s", out.fault.text);
	ck_assert_ptr_nonnull(back);
	ck_assert_ptr_null(mp);
	uint8_t small[BGP_MESSAGE_MAX];
	for (size_t cap = 0; cap < len; cap++)
		ck_assert_uint_eq(export_block(a, &e, small, cap), 0);
	return back;
}

#define RICH_REST " 40 06 00 c0 08 08 fbf00001 ffffff01 c0 10 08 0002fbf000000001 c0 20 0c 0000fbf00000000100000002 e0 c8 02 abcd"
#define RICH_REST_TEXT " 8/c0=fbf00001ffffff01 16/c0=0002fbf000000001 32/c0=0000fbf00000000100000002 200/e0=abcd"

static const struct {
	const char *what;
	unsigned from;
	const char *attrs, *own, *ebgp, *ibgp; /* as decoded, and as the other end of such a session decodes it */
} journeys[] = {
	{"least", E4, "O P N", "0 [64496] 10.0.0.1 - 100", "0 [64500 64496] 10.0.0.2 - 100", "0 [64496] 10.0.0.1 - 100"},
	{"least, 2-byte", E2, "O P N", "0 [64496] 10.0.0.1 - 100", "0 [64500 64496] 10.0.0.2 - 100",
	 "0 [64496] 10.0.0.1 - 100"},
	{"empty path", I4, "40 01 01 02 40 02 00 N", "2 [] 10.0.0.1 - 100", "2 [64500] 10.0.0.2 - 100", "2 [] 10.0.0.1 - 100"},
	{"rich, from outside", E4,
	 "40 01 01 01 40 02 0a 02 02 0000fbf0 00010000 N 80 04 04 00000007 c0 07 08 00010001 0a000009" RICH_REST,
	 "1 [64496 65536] 10.0.0.1 7 100 6/40= 7/c0=000100010a000009" RICH_REST_TEXT,
	 "1 [64500 64496 65536] 10.0.0.2 - 100 6/40= 7/c0=000100010a000009" RICH_REST_TEXT,
	 "1 [64496 65536] 10.0.0.1 7 100 6/40= 7/c0=000100010a000009" RICH_REST_TEXT},
	{"rich, from inside", I4,
	 "O 40 02 0a 02 02 00010000 0000fbf0 N 80 04 04 00000000 40 05 04 000000c8 e0 07 08 0000fbf0 0a000009 "
	 "80 09 04 0a000008 80 0a 08 0a0000010a000002" RICH_REST,
	 "0 [65536 64496] 10.0.0.1 0 200 6/40= 7/e0=0000fbf00a000009 8/c0=fbf00001ffffff01 9/80=0a000008 "
	 "10/80=0a0000010a000002 16/c0=0002fbf000000001 32/c0=0000fbf00000000100000002 200/e0=abcd",
	 "0 [64500 65536 64496] 10.0.0.2 - 100 6/40= 7/e0=0000fbf00a000009" RICH_REST_TEXT,
	 "0 [65536 64496] 10.0.0.1 0 200 6/40= 7/e0=0000fbf00a000009 8/c0=fbf00001ffffff01 9/80=0a000008 "
	 "10/80=0a0000010a000002 16/c0=0002fbf000000001 32/c0=0000fbf00000000100000002 200/e0=abcd"},
	{"rich, from outside, 2-byte", E2,
	 "O 40 02 06 02 02 fbf0 5ba0 N e0 07 06 5ba0 0a000009 c0 11 06 02 01 00010000 c0 12 08 00010001 0a000009" RICH_REST,
	 "0 [64496 65536] 10.0.0.1 - 100 6/40= 7/e0=000100010a000009" RICH_REST_TEXT,
	 "0 [64500 64496 65536] 10.0.0.2 - 100 6/40= 7/e0=000100010a000009" RICH_REST_TEXT,
	 "0 [64496 65536] 10.0.0.1 - 100 6/40= 7/e0=000100010a000009" RICH_REST_TEXT},
	{"AS_TRANS itself", E4, "O 40 02 0a 02 02 0000fbf0 00005ba0 N c0 07 08 00005ba0 0a000009",
	 "0 [64496 23456] 10.0.0.1 - 100 7/c0=00005ba00a000009",
	 "0 [64500 64496 23456] 10.0.0.2 - 100 7/c0=00005ba00a000009",
	 "0 [64496 23456] 10.0.0.1 - 100 7/c0=00005ba00a000009"},
	{"a short aggregator in a long path", E4, "O 40 02 0a 02 02 0000fbf0 00010000 N c0 07 08 0000fbf0 0a000009",
	 "0 [64496 65536] 10.0.0.1 - 100 7/c0=0000fbf00a000009",
	 "0 [64500 64496 65536] 10.0.0.2 - 100 7/c0=0000fbf00a000009",
	 "0 [64496 65536] 10.0.0.1 - 100 7/c0=0000fbf00a000009"},
};

START_TEST(attributes_go_round)
{
	char text[1024];
	struct bgp_attrs *a = set_of(journeys[_i].from, journeys[_i].attrs);
	ck_assert_str_eq(describe(a, text, sizeof text), journeys[_i].own);
	for (unsigned c = 1; c < ALL; c <<= 1) {
		struct bgp_attrs *back = sent_to(a, c, LOCAL_AS);
		describe(back, text, sizeof text);
		ck_assert_msg(strcmp(text, c & EBGP ? journeys[_i].ebgp : journeys[_i].ibgp) == 0, "%s, session %x: %s",
			      journeys[_i].what, c, text);
		bgp_attrs_unref(back);
	}
	bgp_attrs_unref(a);
}
END_TEST

START_TEST(own_routes_go_out)
{
	char text[256];
	struct bgp_attrs *a = bgp_attrs_local(&table), *again = bgp_attrs_local(&table);
	ck_assert_ptr_eq(a, again);
	bgp_attrs_unref(again);
	ck_assert(addr_is_zero((struct addr[]){bgp_attrs_next_hop(a)}));
	for (unsigned c = 1; c < ALL; c <<= 1) {
		struct bgp_attrs *back = sent_to(a, c, LOCAL_AS);
		ck_assert_str_eq(describe(back, text, sizeof text),
				 c & EBGP ? "0 [64500] 10.0.0.2 - 100" : "0 [] 10.0.0.2 - 100");
		bgp_attrs_unref(back);
		back = sent_to(a, c, 4200000001);
		ck_assert_str_eq(describe(back, text, sizeof text),
				 c & EBGP ? "0 [4200000001] 10.0.0.2 - 100" : "0 [] 10.0.0.2 - 100");
		bgp_attrs_unref(back);
	}
	bgp_attrs_unref(a);
}
END_TEST

/* m9: what is for inside stays inside; m22: lengths over 255 are told as such. */
START_TEST(what_is_sent_has_the_right_form)
{
	uint8_t block[BGP_MESSAGE_MAX], body[BGP_MESSAGE_MAX];
	struct bgp_attr_item item;
	struct writer w = writer_of(body, sizeof body);
	struct bgp_attr_block out;
	struct bgp_attrs *a, *mp;
	put_hex(&w, "O P N d0 08 0190", I4); /* 100 communities */
	for (unsigned i = 0; i < 100; i++)
		writer_u32(&w, 0xfbf00000 + i);
	put_hex(&w, "c0 c9 01 00 40 05 04 000000c8", I4);
	bgp_attrs_decode(&table, BGP_ATTR_IBGP, cursor_of(body, writer_len(&w)), true, &out, &a, &mp);
	ck_assert_int_eq(out.fault.reaction, BGP_FINE);
	for (unsigned c = 1; c < ALL; c <<= 1) {
		struct cursor left = cursor_of(block, export(a, c, block, sizeof block));
		unsigned seen = 0;
		while (bgp_attr_next(&left, &item)) {
			ck_assert(item.code != BGP_ATTR_LOCAL_PREF || c & IBGP);
			ck_assert_int_eq(!!(item.flags & BGP_FLAG_EXTENDED), cursor_left(&item.value) > 255);
			ck_assert_uint_eq(item.flags & 0x0f, 0);
			seen++;
		}
		ck_assert(cursor_ok(&left));
		ck_assert_uint_eq(seen, c & IBGP ? 6 : 5);
	}
	bgp_attrs_unref(a);
}
END_TEST

/* A segment holds 255: our own number then gets one of its own. */
START_TEST(a_full_segment_is_not_overfilled)
{
	uint8_t body[BGP_MESSAGE_MAX];
	struct writer w = writer_of(body, sizeof body);
	struct bgp_attr_block out;
	struct bgp_attrs *a, *mp;
	put_hex(&w, "O N 50 02 03fe 02 ff", E4);
	for (unsigned i = 0; i < 255; i++)
		writer_u32(&w, PEER_AS);
	bgp_attrs_decode(&table, 0, cursor_of(body, writer_len(&w)), true, &out, &a, &mp);
	ck_assert_int_eq(out.fault.reaction, BGP_FINE);
	for (unsigned c = 1; c < ALL; c <<= 1) {
		struct bgp_attrs *back = sent_to(a, c, 70000);
		ck_assert_uint_eq(back->as_count, c & EBGP ? 256 : 255);
		ck_assert_uint_eq(back->first_as, c & EBGP ? 70000 : PEER_AS);
		ck_assert_uint_eq(bgp_attrs_count_as(back, PEER_AS), 255);
		ck_assert_uint_eq(back->as_path_len, c & EBGP ? 1022 + 6 : 1022);
		bgp_attrs_unref(back);
	}
	bgp_attrs_unref(a);
}
END_TEST

START_TEST(paths_have_text)
{
	char buf[64];
	struct bgp_attrs *a = set_of(E4, "O 40 02 0e 02 03 0000fbf0 fa56ea01 00000001 N");
	ck_assert_str_eq(bgp_attrs_path_text(a, buf, sizeof buf), "64496 4200000001 1");
	ck_assert_str_eq(bgp_attrs_path_text(a, buf, 19), "64496 4200000001 1");
	for (size_t cap = 4; cap < 19; cap++) {
		memset(buf, 'x', sizeof buf);
		bgp_attrs_path_text(a, buf, cap);
		size_t len = strnlen(buf, sizeof buf);
		ck_assert_uint_lt(len, cap);
		ck_assert_str_eq(buf + len - 3, "...");
	}
	bgp_attrs_unref(a);
}
END_TEST

START_TEST(communities_that_matter_are_seen)
{
	static const struct {
		const char *value;
		bool no_export, no_advertise, shutdown;
	} cases[] = {{"fbf00001", false, false, false}, {"ffffff01", true, false, false}, {"ffffff02", false, true, false},
		     {"ffffff03", true, false, false},  {"fffffe01", false, false, false}, {"ffff0000", false, false, true},
		     {"0000ffff 00000000", false, false, false}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		for (unsigned c = 1; c < ALL; c <<= 1) {
			char attrs[64];
			bool two = strlen(cases[i].value) > 8;
			snprintf(attrs, sizeof attrs, "O P N c0 08 %s 00010001 %s", two ? "0c" : "08", cases[i].value);
			struct bgp_attrs *a = set_of(c, attrs);
			ck_assert_int_eq(a->no_export, cases[i].no_export);
			ck_assert_int_eq(a->no_advertise, cases[i].no_advertise);
			ck_assert_int_eq(a->graceful_shutdown, cases[i].shutdown);
			ck_assert_uint_eq(a->local_pref, cases[i].shutdown && c & EBGP ? 0 : 100);
			struct bgp_attrs *inside = sent_to(a, I4, LOCAL_AS); /* and everybody inside hears of it */
			ck_assert_uint_eq(inside->local_pref, a->local_pref);
			bgp_attrs_unref(inside);
			bgp_attrs_unref(a);
		}
	}
}
END_TEST

/* --- sharing */

START_TEST(the_same_attributes_are_one_set)
{
	struct bgp_attrs *a = set_of(E4, "O P N 80 04 04 00000007"), *b = set_of(E4, "O P N 80 04 04 00000007");
	ck_assert_ptr_eq(a, b);
	ck_assert_uint_eq(a->refs, 2);
	ck_assert_uint_eq(live_count(LIVE_ATTRS), 1);
	struct bgp_attrs *odd = set_of(E4, "4f 01 01 00 P N 80 c8 00 90 04 0004 00000007 40 05 04 00000065");
	ck_assert_ptr_eq(odd, a); /* what differed is no part of the set */
	struct bgp_attrs *other = set_of(E4, "O P N 80 04 04 00000008");
	ck_assert_ptr_ne(other, a);
	struct bgp_attrs *inside = set_of(I4, "O P N 80 04 04 00000007");
	ck_assert_ptr_ne(inside, a);
	ck_assert_uint_eq(live_count(LIVE_ATTRS), 3);
	bgp_attrs_unref(b);
	bgp_attrs_unref(odd);
	ck_assert_uint_eq(a->refs, 1);
	bgp_attrs_unref(a);
	bgp_attrs_unref(other);
	bgp_attrs_unref(inside);
	bgp_attrs_unref(NULL);
}
END_TEST

/* A set is found by its bytes, which mean something else on a 2-byte session. */
START_TEST(known_bytes_are_not_believed_on_a_two_byte_session)
{
	struct bgp_update u;
	struct bgp_attrs *a = set_of(E4, "O 40 02 06 02 01 0000fbf0 N");
	uint8_t *bytes = decode(E2, "", "O 40 02 06 02 01 0000fbf0 N", NET, &u);
	ck_assert_int_eq(u.fault.reaction, BGP_WITHDRAW);
	ck_assert_uint_eq(u.fault.subcode, BGP_UPDATE_AS_PATH);
	bgp_update_fini(&u);
	free(bytes);
	bgp_attrs_unref(a);
}
END_TEST

START_TEST(the_next_hop_of_mp_reach_is_part_of_the_key)
{
	struct bgp_update u[3];
	uint8_t *bytes[3] = {
		decode(E4, "", "O P 80 0e 0d 0001 01 04 0a000001 00 18 0af408", "", &u[0]),
		decode(E4, "", "O P 80 0e 0d 0001 01 04 0a000001 00 18 0af409", "", &u[1]),
		decode(E4, "", "O P 80 0e 0d 0001 01 04 0a000003 00 18 0af408", "", &u[2]),
	};
	ck_assert_ptr_eq(u[0].part[1].attrs, u[1].part[1].attrs);
	ck_assert_ptr_ne(u[0].part[1].attrs, u[2].part[1].attrs);
	/* the same bytes, but with classic NLRI: NEXT_HOP is missing, whatever set there is already */
	struct bgp_attrs *local = bgp_attrs_local(&table);
	struct bgp_update bad;
	uint8_t *more = decode(E4, "", "O P", NET, &bad);
	ck_assert_int_eq(bad.fault.reaction, BGP_WITHDRAW);
	free(more);
	more = decode(I4, "", "O 40 02 00", NET, &bad); /* the words of our own routes */
	ck_assert_int_eq(bad.fault.reaction, BGP_WITHDRAW);
	free(more);
	more = decode(E4, "", "O 40 02 00", NET, &bad);
	ck_assert_int_eq(bad.fault.reaction, BGP_WITHDRAW);
	ck_assert_uint_eq(bad.fault.subcode, BGP_UPDATE_MISSING);
	free(more);
	bgp_attrs_unref(local);
	for (unsigned i = 0; i < 3; i++) {
		bgp_update_fini(&u[i]);
		free(bytes[i]);
	}
}
END_TEST

START_TEST(many_sets_stay_apart)
{
	enum { SETS = 5000 };
	static struct bgp_attrs *sets[SETS];
	char attrs[64];
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < SETS; i++) {
			snprintf(attrs, sizeof attrs, "O P N 80 04 04 %08x", i);
			struct bgp_attrs *a = set_of(E4, attrs);
			ck_assert_uint_eq(a->med, i);
			if (round) {
				ck_assert_ptr_eq(a, sets[i]);
				bgp_attrs_unref(a);
			}
			sets[i] = a;
		}
		ck_assert_uint_eq(live_count(LIVE_ATTRS), SETS);
	}
	for (unsigned i = 0; i < SETS; i++)
		bgp_attrs_unref(sets[i]);
}
END_TEST

/* --- packing */

enum { PREFIXES = 15000 };
static struct prefix prefixes[PREFIXES];

static void make_prefixes(unsigned kind)
{
	for (unsigned i = 0; i < PREFIXES; i++) {
		unsigned len = kind == 33 ? 8 + i % 25 : kind;
		prefixes[i] = prefix_make_v4(0x0a000000 + i * 1024, len);
	}
}

/* Decodes one message and checks that it holds prefixes[*at...]. */
static void check_packed(const uint8_t *msg, size_t len, bool announced, unsigned *at)
{
	struct bgp_frame f;
	struct bgp_fault fault = {0};
	struct bgp_update u;
	struct prefix p;
	ck_assert_uint_le(len, BGP_EXTENDED_MAX);
	ck_assert_int_eq(bgp_frame_next(msg, len, BGP_EXTENDED_MAX, &f, &fault), 1);
	ck_assert_int_eq(f.type, BGP_UPDATE);
	ck_assert_uint_eq(f.len, len);
	struct bgp_update_context ctx = context_of(I4);
	bgp_update_decode(&ctx, f.body, f.body_len, &u);
	ck_assert_msg(u.fault.reaction == BGP_FINE, "%s", u.fault.text);
	struct bgp_nlri n = announced ? u.part[0].announced : u.part[0].withdrawn;
	ck_assert_int_eq(u.part[0].attrs != NULL, announced);
	while (bgp_nlri_next(&n, &p, NULL)) {
		ck_assert_uint_lt(*at, PREFIXES);
		ck_assert(prefix_eq(&p, &prefixes[(*at)++]));
	}
	bgp_update_fini(&u);
}

static size_t announce_v4(uint8_t *out, size_t cap, const uint8_t *block, size_t len, const struct prefix *at, size_t n,
			  size_t *used)
{
	struct bgp_words words = {.block = block, .len = len, .next_hop = addr_from_v4(0x0a000002)};
	return bgp_update_encode_announce(out, cap, &words, &(struct bgp_routes){BGP_IPV4_UNICAST, n, at, NULL}, used);
}

static size_t withdraw_v4(uint8_t *out, size_t cap, const struct prefix *at, size_t n, size_t *used)
{
	return bgp_update_encode_withdraw(out, cap, &(struct bgp_routes){BGP_IPV4_UNICAST, n, at, NULL}, used);
}

static void check_packing(size_t block_len, const uint8_t *block, size_t cap)
{
	uint8_t *msg = malloc(cap);
	unsigned at = 0, messages = 0;
	for (size_t i = 0, used; i < PREFIXES; i += used) {
		size_t len = block ? announce_v4(msg, cap, block, block_len, prefixes + i, PREFIXES - i, &used)
				   : withdraw_v4(msg, cap, prefixes + i, PREFIXES - i, &used);
		ck_assert_uint_gt(used, 0);
		ck_assert_uint_le(len, cap);
		check_packed(msg, len, block != NULL, &at);
		ck_assert_uint_eq(at, i + used);
		/* full: the next one would not have fitted */
		if (at < PREFIXES)
			ck_assert_uint_gt(len + 1 + (prefix_plen(&prefixes[at]) + 7) / 8, cap < BGP_EXTENDED_MAX ? cap : BGP_EXTENDED_MAX);
		messages++;
	}
	ck_assert_uint_eq(at, PREFIXES);
	ck_assert(messages > 1 || cap > BGP_MESSAGE_MAX);
	free(msg);
}

START_TEST(prefixes_are_packed_without_loss)
{
	static const unsigned kinds[] = {8, 9, 16, 24, 32, 33};
	static const size_t caps[] = {100, 4095, 4096, 8192, 65535, 70000};
	uint8_t block[BGP_MESSAGE_MAX];
	struct bgp_attrs *a = set_of(E4, "O P N");
	size_t block_len = export(a, I4, block, sizeof block);
	make_prefixes(kinds[_i]);
	for (size_t i = 0; i < sizeof caps / sizeof *caps; i++) {
		check_packing(block_len, block, caps[i]);
		check_packing(0, NULL, caps[i]);
	}
	bgp_attrs_unref(a);
}
END_TEST

START_TEST(the_default_route_takes_one_byte)
{
	uint8_t msg[64];
	size_t used;
	prefixes[0] = prefix_make_v4(0, 0);
	ck_assert_uint_eq(withdraw_v4(msg, sizeof msg, prefixes, 1, &used), 24);
	ck_assert_uint_eq(used, 1);
	unsigned at = 0;
	check_packed(msg, 24, false, &at);
	ck_assert_uint_eq(at, 1);
}
END_TEST

/* Too little room for even one prefix gives nothing, says so, and writes nothing beyond cap. */
START_TEST(no_room_is_no_message)
{
	uint8_t block[BGP_MESSAGE_MAX], msg[BGP_MESSAGE_MAX];
	struct bgp_attrs *a = set_of(E4, "O P N");
	size_t used, block_len = export(a, I4, block, sizeof block), need = 23 + block_len + 4;
	make_prefixes(24);
	for (size_t cap = 0; cap < need; cap++) {
		memset(msg, 0x5a, sizeof msg);
		used = 9;
		ck_assert_uint_eq(announce_v4(msg, cap, block, block_len, prefixes, 5, &used), 0);
		ck_assert_uint_eq(used, 0);
		ck_assert_uint_eq(msg[cap], 0x5a);
	}
	for (size_t cap = 0; cap < 27; cap++) {
		memset(msg, 0x5a, sizeof msg);
		used = 9;
		ck_assert_uint_eq(withdraw_v4(msg, cap, prefixes, 5, &used), 0);
		ck_assert_uint_eq(used, 0);
		ck_assert_uint_eq(msg[cap], 0x5a);
	}
	ck_assert_uint_eq(announce_v4(msg, need, block, block_len, prefixes, 5, &used), need);
	ck_assert_uint_eq(used, 1);
	/* m21: a block that leaves no room for a prefix */
	static uint8_t large[BGP_MESSAGE_MAX];
	ck_assert_uint_eq(announce_v4(msg, sizeof msg, large, 4073, prefixes, 5, &used), 0);
	ck_assert_uint_eq(used, 0);
	bgp_attrs_unref(a);
}
END_TEST

static void check_end_of_rib(enum bgp_family family, size_t expected)
{
	uint8_t msg[64];
	struct bgp_frame f;
	struct bgp_fault fault = {0};
	struct bgp_update u;
	struct bgp_update_context ctx = context_of(E4);
	ctx.families[BGP_IPV6_UNICAST] = true;
	size_t len = bgp_update_encode_end_of_rib(msg, sizeof msg, family);
	ck_assert_uint_eq(len, expected);
	ck_assert_int_eq(bgp_frame_next(msg, len, BGP_MESSAGE_MAX, &f, &fault), 1);
	bgp_update_decode(&ctx, f.body, f.body_len, &u);
	ck_assert_int_eq(u.fault.reaction, BGP_FINE);
	ck_assert(u.end_of_rib);
	ck_assert_int_eq(u.end_of_rib_family, family);
	bgp_update_fini(&u);
	for (size_t cap = 0; cap < len; cap++)
		ck_assert_uint_eq(bgp_update_encode_end_of_rib(msg, cap, family), 0);
}

START_TEST(the_end_of_a_rib_goes_round)
{
	check_end_of_rib(BGP_IPV4_UNICAST, 23);
	check_end_of_rib(BGP_IPV6_UNICAST, 30);
}
END_TEST

/* m17: the forms of RFC 2545, and what becomes of them inside: an address of a link says nothing beyond that link, and
 * an IPv4-mapped one is still 16 bytes in MP_REACH_NLRI. */
static const struct {
	const char *bytes;
	const char *next_hop, *inside;
} hops6[] = {
	{"10" NH6, "fd00::1", "fd00::1"},
	{"20" NH6 LL6, "fd00::1", "fd00::1"},
	{"20" NH6 ZERO6, "fd00::1", "fd00::1"},
	{"10" LL6, "fe80::1", "fd00::9"},
	{"20" LL6 LL6, "fe80::1", "fd00::9"},
	{"20" ZERO6 LL6, "fe80::1", "fd00::9"},
	{"10 00000000000000000000ffff0a000001", "10.0.0.1", "10.0.0.1"},
};

static void send_inside(const struct bgp_attrs *a, struct bgp_nlri n, const char *expected)
{
	uint8_t block[BGP_MESSAGE_MAX], msg[BGP_MESSAGE_MAX];
	char text[ADDR_TEXT_MAX];
	struct bgp_export e = {.ibgp = true, .as4 = true, .local_asn = LOCAL_AS};
	struct bgp_words words;
	struct bgp_update u;
	struct prefix p;
	size_t used;
	ck_assert(addr_parse("fd00::9", &e.next_hop_self[BGP_IPV6_UNICAST]) && addr_parse("fe80::9", &e.link_local_self));
	ck_assert(bgp_nlri_next(&n, &p, NULL));
	ck_assert(bgp_attrs_export(a, &e, BGP_IPV6_UNICAST, block, sizeof block, &words));
	size_t len = bgp_update_encode_announce(msg, sizeof msg, &words, &(struct bgp_routes){BGP_IPV6_UNICAST, 1, &p, NULL}, &used);
	ck_assert_uint_eq(used, 1);
	uint8_t *bytes = decode_bytes(I4 | V6, msg + BGP_HEADER_LEN, len - BGP_HEADER_LEN, &u);
	ck_assert_msg(u.fault.reaction == BGP_FINE, "%s", u.fault.text);
	ck_assert_str_eq(addr_format((struct addr[]){bgp_attrs_next_hop(u.part[1].attrs)}, text), expected);
	bgp_update_fini(&u);
	free(bytes);
}

START_TEST(ipv6_next_hops_are_understood_and_passed_on)
{
	char attrs[256], text[ADDR_TEXT_MAX];
	struct bgp_update u;
	unsigned len = hops6[_i].bytes[0] == '1' ? 4 + 16 + 1 + 7 : 4 + 32 + 1 + 7;
	snprintf(attrs, sizeof attrs, "O P 80 0e %02x 0002 01 %s 00" NET6, len, hops6[_i].bytes);
	uint8_t *bytes = decode(E4 | V6, "", attrs, "", &u);
	ck_assert_int_eq(u.fault.reaction, BGP_FINE);
	ck_assert_str_eq(addr_format((struct addr[]){bgp_attrs_next_hop(u.part[1].attrs)}, text), hops6[_i].next_hop);
	send_inside(u.part[1].attrs, u.part[1].announced, hops6[_i].inside);
	bgp_update_fini(&u);
	free(bytes);
}
END_TEST

/* IPv6: as many messages as it takes, MP_REACH_NLRI first, the link-local address along; withdrawals and End-of-RIB. */
START_TEST(ipv6_goes_round)
{
	enum { MANY = 3000 };
	static struct prefix many[MANY];
	uint8_t block[BGP_MESSAGE_MAX], msg[BGP_MESSAGE_MAX];
	struct bgp_attrs *a = set_of(E4, "O P N");
	struct bgp_export e = {.as4 = true, .local_asn = LOCAL_AS};
	struct bgp_words words;
	struct addr base;
	size_t used;
	ck_assert(addr_parse("fd00::1", &e.next_hop_self[BGP_IPV6_UNICAST]) && addr_parse("fe80::1", &e.link_local_self) &&
		  addr_parse("fd10::", &base));
	for (unsigned i = 0; i < MANY; i++) {
		base.b[4] = (uint8_t)(i >> 8);
		base.b[5] = (uint8_t)i;
		many[i] = prefix_make(&base, 48 + i % 81);
	}
	ck_assert(bgp_attrs_export(a, &e, BGP_IPV6_UNICAST, block, sizeof block, &words));
	struct bgp_update_context ctx = context_of(E4);
	ctx.peer_asn = LOCAL_AS;
	ctx.families[BGP_IPV6_UNICAST] = true;
	for (unsigned withdraw = 0; withdraw < 2; withdraw++) {
		for (size_t i = 0; i < MANY; i += used) {
			struct bgp_frame f;
			struct bgp_fault fault = {0};
			struct bgp_update u;
			struct prefix p;
			struct bgp_routes rest = {BGP_IPV6_UNICAST, MANY - i, many + i, NULL};
			size_t len = withdraw ? bgp_update_encode_withdraw(msg, sizeof msg, &rest, &used)
					      : bgp_update_encode_announce(msg, sizeof msg, &words, &rest, &used);
			ck_assert_uint_gt(used, 0);
			ck_assert_int_eq(bgp_frame_next(msg, len, BGP_MESSAGE_MAX, &f, &fault), 1);
			ck_assert_uint_eq(f.len, len);
			bgp_update_decode(&ctx, f.body, f.body_len, &u);
			ck_assert_msg(u.fault.reaction == BGP_FINE, "%s", u.fault.text);
			ck_assert(!u.end_of_rib);
			struct bgp_nlri n = withdraw ? u.part[1].withdrawn : u.part[1].announced;
			for (size_t k = 0; k < used; k++) {
				ck_assert(bgp_nlri_next(&n, &p, NULL));
				ck_assert(prefix_eq(&p, &many[i + k]));
			}
			ck_assert(!bgp_nlri_next(&n, &p, NULL));
			if (!withdraw)
				ck_assert(addr_eq((struct addr[]){bgp_attrs_next_hop(u.part[1].attrs)}, &e.next_hop_self[BGP_IPV6_UNICAST]));
			bgp_update_fini(&u);
		}
	}
	struct bgp_update u;
	size_t len = bgp_update_encode_end_of_rib(msg, sizeof msg, BGP_IPV6_UNICAST);
	bgp_update_decode(&ctx, msg + BGP_HEADER_LEN, len - BGP_HEADER_LEN, &u);
	ck_assert(u.end_of_rib && u.end_of_rib_family == BGP_IPV6_UNICAST);
	bgp_update_fini(&u);
	bgp_attrs_unref(a);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bgp_update");
	TCase *t = tcase_create("bgp_update");
	suite_add_tcase(suite, t);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, malformed_updates_get_their_reaction, 0, ROW_COUNT(malformed));
	tcase_add_loop_test(t, damaged_updates_are_only_read, 0, ROW_COUNT(malformed));
	tcase_add_loop_test(t, lengths_past_the_message_reset, 0, ROW_COUNT(overruns));
	tcase_add_loop_test(t, the_end_of_a_rib_is_told_from_lookalikes, 0, ROW_COUNT(ends));
	tcase_add_test(t, what_is_withdrawn_is_withdrawn);
	tcase_add_test(t, unroutable_prefixes_are_counted);
	tcase_add_test(t, faults_name_their_attribute);
	tcase_add_loop_test(t, two_byte_paths_are_merged, 0, ROW_COUNT(merges));
	tcase_add_loop_test(t, long_two_byte_paths_double, 0, ROW_COUNT(long_paths));
	tcase_add_loop_test(t, attributes_go_round, 0, ROW_COUNT(journeys));
	tcase_add_test(t, own_routes_go_out);
	tcase_add_test(t, what_is_sent_has_the_right_form);
	tcase_add_test(t, a_full_segment_is_not_overfilled);
	tcase_add_test(t, paths_have_text);
	tcase_add_test(t, communities_that_matter_are_seen);
	tcase_add_test(t, the_same_attributes_are_one_set);
	tcase_add_test(t, known_bytes_are_not_believed_on_a_two_byte_session);
	tcase_add_test(t, the_next_hop_of_mp_reach_is_part_of_the_key);
	tcase_add_test(t, many_sets_stay_apart);
	tcase_add_loop_test(t, prefixes_are_packed_without_loss, 0, 6);
	tcase_add_test(t, the_default_route_takes_one_byte);
	tcase_add_test(t, no_room_is_no_message);
	tcase_add_test(t, the_end_of_a_rib_goes_round);
	tcase_add_loop_test(t, ipv6_next_hops_are_understood_and_passed_on, 0, ROW_COUNT(hops6));
	tcase_add_test(t, ipv6_goes_round);
	return run_suite(suite);
}
