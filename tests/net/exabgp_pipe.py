"""What ExaBGP starts as its API process: its messages go to a file, commands come from a named pipe."""
import os
import select
import sys

messages, commands = open(sys.argv[1], "ab", buffering=0), os.open(sys.argv[2], os.O_RDWR)
while True:
    for ready in select.select([0, commands], [], [])[0]:
        data = os.read(ready, 65536)
        if ready == 0 and not data:
            sys.exit(0)
        messages.write(data) if ready == 0 else os.write(1, data)
