#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The measures of a house that a stranger can read, piece by piece:
#   - a source file has at most 700 lines;
#   - within a folder of src/, no cycle of files has more than three files. A file is a pair of .c and .h. It needs
#     another file if it includes the other's header, or if its header declares a variable that the other defines;
#   - folders include each other in one direction, the folders inside a room, too (scripts/check-layers.sh has the order
#     of the rooms);
#   - a room holds at most a tenth of the lines of src/.
cd "$(dirname "$0")/.." || exit 2
{
	find src -name '*.h' | sort
	find src -name '*.c' | sort
	scripts/tracked.sh '*.js' '*.mjs' '*.sh' '*.bash' '*.bats' '*.py' '*.[ch]' | grep -v -e '^src/.*\.[ch]$' -e /data/
} | xargs awk '
FNR == 1 {
	file = FILENAME
	is_code = file ~ /^src\/.*\.[ch]$/
	folder = file
	sub(/\/[^\/]*$/, "", folder)
	me = file
	sub(/\.[ch]$/, "", me)
	if (is_code) {
		folder_of[me] = folder
		split(file, part, "/")
	}
}
{ lines[file] = FNR }
!is_code { next }
{ room_lines[part[2]]++; all_lines++ }
/^[ \t]*#[ \t]*include[ \t]+".*\.h"/ {
	split($0, quoted, "\"")
	to = "src/" quoted[2]
	sub(/\.h$/, "", to)
	add_edge(me, to)
	next
}
file ~ /\.h$/ && /^extern [^(]*;/ { declared[variable_of($0)] = me }
file ~ /\.c$/ && /^[a-z][^(]*[a-z_\]]( = .*|;)$/ && !/^(extern|static|typedef|return|goto|else) / {
	name = variable_of($0)
	if (name in declared && folder_of[declared[name]] == folder)
		add_edge(declared[name], me)
}

function variable_of(line) {
	sub(/( =|;).*/, "", line)
	gsub(/\[[^\]]*\]/, "", line)
	sub(/.*[^a-zA-Z0-9_]/, "", line)
	return line
}
function add_edge(from, to) {
	if (from != to && !((from, to) in edge)) {
		edge[from, to] = 1
		needs[from] = needs[from] " " to
	}
}
# Marks all that can be reached from the node in the graph.
function reach(graph, start, node,   next_nodes, n, i) {
	n = split(graph[node], next_nodes, " ")
	for (i = 1; i <= n; i++)
		if (!((start, next_nodes[i]) in reached)) {
			reached[start, next_nodes[i]] = 1
			reach(graph, start, next_nodes[i])
		}
}
function complain(text) {
	print text
	bad = 1
}
# The cycles of a graph with more than limit nodes, as lists in cycle[1..].
function find_cycles(graph, nodes, limit,   a, b, n, list, done) {
	n_cycles = 0
	for (a in nodes)
		reach(graph, a, a)
	for (a in nodes) {
		if (a in done || !((a, a) in reached))
			continue
		n = 0
		list = ""
		for (b in nodes)
			if ((a, b) in reached && (b, a) in reached) {
				done[b] = 1
				n++
				list = list " " b
			}
		if (n > limit)
			cycle[++n_cycles] = list
	}
}
function print_edges(graph, list,   node, n, to, m, i, j) {
	n = split(list, node, " ")
	for (i = 1; i <= n; i++) {
		m = split(graph[node[i]], to, " ")
		for (j = 1; j <= m; j++)
			if (index(list " ", " " to[j] " "))
				print "    " node[i] " needs " to[j]
	}
}
function check_cycles(   i, n, node) {
	find_cycles(in_folder, folder_of, 3)
	for (i = 1; i <= n_cycles; i++) {
		n = split(cycle[i], node, " ")
		complain(folder_of[node[1]] ": " n " files need each other in a cycle. At most three may. Move a declaration or a" \
			" function to the file that owns it, or pass a table or a callback in:")
		print_edges(in_folder, cycle[i])
	}
	find_cycles(of_folders, of_folders, 1)
	for (i = 1; i <= n_cycles; i++) {
		complain("folders include each other in a cycle. Move the files that both need into the lower folder, or the" \
			" files that need both into a folder above:")
		print_edges(of_folders, cycle[i])
	}
}
END {
	for (file in lines)
		if (lines[file] > 700)
			complain(file ": " lines[file] " lines. At most 700 may be: split the file by subject.")
	for (room in room_lines)
		if (room_lines[room] * 10 > all_lines)
			complain("src/" room ": " room_lines[room] " of " all_lines " lines. A room holds at most a" \
				" tenth: move a subject into a room of its own.")
	for (from in needs) {
		n = split(needs[from], target, " ")
		for (i = 1; i <= n; i++) {
			if (!(target[i] in folder_of) || !(from in folder_of))
				continue
			if (folder_of[from] == folder_of[target[i]])
				in_folder[from] = in_folder[from] " " target[i]
			else if (!folder_edge[folder_of[from], folder_of[target[i]]]++)
				of_folders[folder_of[from]] = of_folders[folder_of[from]] " " folder_of[target[i]]
		}
	}
	check_cycles()
	exit bad
}'
