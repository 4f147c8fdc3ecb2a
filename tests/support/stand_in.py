"""A program that stands for one that is forked elsewhere: it gives that its streams, and ends as that ends.

``python -I -S stand_in.py ADDRESS DESCRIPTORS COMMAND…``. It runs alone, since it must start in a moment.
"""

import json
import os
import signal
import socket
import sys

PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def main() -> None:
    """Have the command run; it is killed if this process is."""
    # The program may be signalled as soon as it runs, before its id is known here.
    signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)
    address, descriptors, *command = sys.argv[1:]
    passed = json.loads(descriptors)
    task = {"command": command, "cwd": os.getcwd(), "env": dict(os.environ), "session": True, "passed": passed}
    connection = socket.socket(socket.AF_UNIX)
    connection.connect("\0" + address)
    socket.send_fds(connection, [json.dumps(task).encode() + b"\n"], [0, 1, 2, *passed])
    replies = connection.makefile()
    program = int(replies.readline())
    for number in PASSED_ON:
        signal.signal(number, lambda number, _: os.kill(program, number))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
    # Who reads the program's output would wait for this process too.
    for number in passed:
        os.close(number)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    code = int(replies.readline())
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    main()
