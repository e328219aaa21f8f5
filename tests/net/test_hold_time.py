"""The ends of the range: no hold time at all, and the shortest one."""
import re

import pytest

from harness import holds_for, wait_until

POD, OTHER = "10.244.1.0/24", "10.244.2.0/24"


@pytest.mark.parametrize("ours, theirs, agreed", [("0", 9, 0), ("9s", 0, 0), ("3s", 180, 3)])
def test_hold_times(any_wire, ours, theirs, agreed):
    """The smaller counts, and 0 is the smallest: nobody is waited for then, and no keepalive goes out but the first."""
    wire = any_wire
    switch = wire.switch(announce=[OTHER], hold=theirs).start()
    node = wire.underlayd(hold_time=ours).start().wait_established("tor")
    peer = node.peer("tor")
    assert (peer["hold_time"], peer["keepalive_time"]) == (agreed, agreed // 3)
    wait_until(lambda: OTHER in wire.node.our_routes(), 20, "routes are exchanged")
    switch.wait_route(POD)
    if agreed:
        holds_for(lambda: node.established("tor"), agreed + 1, "a session longer than its hold time")
        return
    before = node.peer("tor")["messages_out"]
    holds_for(lambda: node.peer("tor")["messages_out"] == before and node.established("tor"), 2, "a session without keepalives")
    assert not re.search("Hold Timer", node.log())
