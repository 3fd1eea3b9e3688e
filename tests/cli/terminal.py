"""Plays a person at a terminal: runs a program on a pseudo terminal and follows the steps on standard input.

    python3 terminal.py SCREEN_FILE PROGRAM ARGUMENT...

A step a line; \\r, \\x03 and the like are escapes:

    wait TEXT     until the screen shows it, behind what was waited for before
    key TEXT      type it
    raw           until the program reads keys one by one, behind a prompt
    cooked        until it doesn't
    signal NAME   send a signal to what is in the foreground
    size R C      the window has R rows and C columns now

No step counts on time: each waits for what it names, up to a minute. What the screen showed is written to SCREEN_FILE as
it came. Ends with the program's status; 99: a step waited in vain, 98: the program didn't end by itself.
"""

import codecs
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

PATIENCE = 60.0


class Screen:
    def __init__(self, command):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvp(command[0], command)
        self.shown = b""
        self.seen = 0
        self.ended = False

    def read(self, seconds):
        """Take what comes within the time; False once nothing more can."""
        if self.ended or not select.select([self.fd], [], [], seconds)[0]:
            return not self.ended
        try:
            piece = os.read(self.fd, 65536)
        except OSError:
            piece = b""
        self.shown += piece
        self.ended = piece == b""
        return not self.ended

    def wait(self, text):
        end = time.monotonic() + PATIENCE
        while True:
            at = self.shown.find(text, self.seen)
            if at >= 0:
                self.seen = at + len(text)
                return True
            if not self.read(0.2) or time.monotonic() > end:
                return self.shown.find(text, self.seen) >= 0

    def wait_mode(self, canonical):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if bool(termios.tcgetattr(self.fd)[3] & termios.ICANON) == canonical:
                return True
            if not self.read(0.02):
                return False
        return False

    def finish(self):
        end = time.monotonic() + PATIENCE
        while self.read(0.2) and time.monotonic() < end:
            pass
        if not self.ended:
            os.kill(self.pid, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return status if self.ended else 98


def take(screen, step):
    name, _, rest = step.partition(" ")
    data = codecs.escape_decode(rest.encode("utf-8"))[0]
    if name == "wait":
        return screen.wait(data)
    if name in ("raw", "cooked"):
        return screen.wait_mode(name == "cooked")
    if name == "key":
        os.write(screen.fd, data)
    elif name == "signal":
        os.killpg(os.tcgetpgrp(screen.fd), getattr(signal, rest))
    elif name == "size":
        rows, columns = map(int, rest.split())
        fcntl.ioctl(screen.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    else:
        raise SystemExit("terminal.py: no step '%s'" % name)
    return True


def main():
    steps = sys.stdin.read().splitlines()
    screen = Screen(sys.argv[2:])
    failed = None
    for step in steps:
        if step.strip() and not take(screen, step):
            failed = step
            break
    if failed is not None:
        os.kill(screen.pid, signal.SIGKILL)
        print("waited in vain: " + failed, file=sys.stderr)
    status = screen.finish()
    with open(sys.argv[1], "wb") as out:
        out.write(screen.shown)
    sys.exit(99 if failed is not None else status)


main()
