"""A program on a terminal of its own."""
import fcntl
import os
import pty
import struct
import sys
import termios


def on_terminal(words, environment, folder, columns=100):
    """(exit code, text): on a terminal of that width; both streams are one."""
    pid, terminal = pty.fork()
    if pid == 0:
        # The parent sets the width first: it writes a line when that is done.
        sys.stdin.readline()
        os.chdir(folder)
        os.execve(words[0], words, environment)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    attributes = termios.tcgetattr(terminal)
    attributes[3] &= ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSANOW, attributes)
    os.write(terminal, b"go\n")
    output = b""
    while True:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:
            break
        if not chunk:
            break
        output += chunk
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    return os.waitstatus_to_exitcode(status), output.decode().replace("\r\n", "\n")
