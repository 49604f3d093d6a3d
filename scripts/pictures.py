#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the pictures of the README: pictures.py ASSAY FOLDER

Records scripts/demo-work.sh, and writes four pictures. FOLDER/page.png is the page of `assay report
--html` in Chromium, and FOLDER/serve.png that of `assay serve`. FOLDER/terminal.svg shows commands and
their output as in a terminal, and FOLDER/browse.svg `assay browse` in tmux.
"""
import html
import os
import pty
import re
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COLUMNS, ROWS = 100, 49
WIDTH, HEIGHT, SIZE = 7.8, 17, 13  # of a character, in pixels
COLOURS = {"1": "font-weight='bold'", "2": "fill='#8a93a3'", "31": "fill='#e06c75'", "32": "fill='#98c379'",
	   "33": "fill='#e5c07b'", "34": "fill='#61afef'", "35": "fill='#c678dd'", "36": "fill='#56b6c2'"}


def terminal_output(folder, command):
	"""What the command writes to a terminal, with its escape sequences."""
	written = bytearray()

	def read(descriptor):
		data = os.read(descriptor, 65536)
		written.extend(data)
		return data

	environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "PAGER": "cat"}
	child = pty.fork()
	if child[0] == 0:
		os.chdir(folder)
		os.execvpe(command[0], command, environment)
	while True:
		try:
			if not read(child[1]):
				break
		except OSError:
			break
	os.waitpid(child[0], 0)
	return written.decode(errors="replace").replace("\r\n", "\n")


def svg_line(line, y):
	"""A line of text with colours as one <text> element."""
	parts, style = [], ""
	for piece in re.split(r"(\x1b\[[0-9;]*[A-Za-z])", line):
		match = re.fullmatch(r"\x1b\[([0-9;]*)m", piece)
		if match:
			codes = [code for code in match[1].split(";") if code in COLOURS]
			style = " ".join(COLOURS[code] for code in codes)
		elif piece and not piece.startswith("\x1b"):
			text = html.escape(piece)
			parts.append(f"<tspan {style}>{text}</tspan>" if style else text)
	text = "".join(parts)
	return f'<text x="14" y="{y}" xml:space="preserve">{text}</text>'


def folded(line):
	"""The line as a terminal wraps it; lines with colours are no longer than the terminal."""
	if "\x1b" in line or len(line) <= COLUMNS:
		return [line]
	return [line[i:i + COLUMNS] for i in range(0, len(line), COLUMNS)]


def write_svg(path, text):
	lines = [row for line in text.rstrip("\n").split("\n") for row in folded(line)]
	lines = lines[:ROWS] + ["…"] * (len(lines) > ROWS)
	width, height = COLUMNS * WIDTH + 28, len(lines) * HEIGHT + 28
	rows = "\n".join(svg_line(line, 14 + SIZE + i * HEIGHT) for i, line in enumerate(lines))
	with open(path, "w", encoding="utf-8") as out:
		out.write(
			f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" '
			f'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="{SIZE}">\n'
			f'<rect width="100%" height="100%" rx="8" fill="#1e2127"/>\n<g fill="#dcdfe4">\n{rows}\n</g>\n</svg>\n')


def screenshot(path, address):
	subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
			"--window-size=1280,760", "--virtual-time-budget=8000", f"--screenshot={path}", address],
		       check=True, stderr=subprocess.DEVNULL)


def serve_picture(work, path):
	with subprocess.Popen(["assay", "serve", "assay.data"], cwd=work, stdout=subprocess.PIPE, text=True) as server:
		try:
			screenshot(path, re.search(r"http://\S+", server.stdout.readline())[0])
		finally:
			server.terminate()


def browse_picture(work, path):
	tmux = ["tmux", "-S", os.path.join(work, "tmux"), "-f", "/dev/null"]
	command = "TERM=xterm-256color exec assay browse -V tree assay.data"
	subprocess.run([*tmux, "new-session", "-d", "-x", str(COLUMNS), "-y", "30", command], cwd=work, check=True)
	try:
		for _ in range(100):
			text = subprocess.run([*tmux, "capture-pane", "-p", "-e"], capture_output=True, text=True, check=True).stdout
			if "assay browse" in text:
				break
			time.sleep(0.1)
		write_svg(path, text)
	finally:
		subprocess.run([*tmux, "kill-server"], check=False)


def main():
	assay, folder = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
	os.environ["PATH"] = os.path.dirname(assay) + ":" + os.environ["PATH"]
	with tempfile.TemporaryDirectory() as work:
		os.symlink(os.path.join(ROOT, "scripts/demo-work.sh"), os.path.join(work, "work.sh"))
		text = ""
		for command in ("assay record -- ./work.sh", "assay report --limit 4",
				"assay report --tree --limit 1 comm:python3"):
			text += f"\x1b[1m$ {command}\x1b[0m\n{terminal_output(work, command.split())}\n"
		write_svg(os.path.join(folder, "terminal.svg"), text)
		page = os.path.join(work, "page.html")
		subprocess.run(["assay", "report", "--html", page], cwd=work, check=True)
		screenshot(os.path.join(folder, "page.png"), f"file://{page}")
		serve_picture(work, os.path.join(folder, "serve.png"))
		browse_picture(work, os.path.join(folder, "browse.svg"))


if __name__ == "__main__":
	main()
