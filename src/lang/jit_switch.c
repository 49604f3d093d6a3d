/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/jit_switch.h"

#include <fnmatch.h>
#include <stddef.h>
#include <string.h>

#define NAME_IT " made this code at run time, and gave it no name: "

#define NODE "node" NAME_IT "run node --perf-basic-prof --interpreted-frames-native-stack"
#define JAVA                                                                          \
	"Java" NAME_IT                                                                \
	"run jcmd PID Compiler.perfmap before it ends (Java 17 and newer), and java " \
	"-XX:+PreserveFramePointer for whole stacks"
#define DOTNET ".NET" NAME_IT "set DOTNET_PerfMapEnabled=1"
#define ERLANG                                                                                \
	"Erlang" NAME_IT "run erl +JPperf true, and +JPfp true for whole stacks (OTP 25 and " \
	"newer)"
#define JULIA  "Julia" NAME_IT "set ENABLE_JITPROFILING=1"
#define LUAJIT "LuaJIT" NAME_IT "build LuaJIT with -DLUAJIT_USE_PERFTOOLS"
#define MONO   "Mono" NAME_IT "run mono --jitmap"
#define PHP    "PHP" NAME_IT "set opcache.jit_debug=0x10"
#define PYTHON "Python" NAME_IT "run python3 -X perf (3.12 and newer)"
#define RUBY   "Ruby" NAME_IT "run ruby --yjit-perf (3.3 and newer)"
#define V8     "V8" NAME_IT "run the program with --js-flags=--perf-basic-prof --no-sandbox"

/*
 * By the last component of the file's path; the first that matches. The functions of some runtimes
 * have names without the switch, as assay reads them.
 */
static const struct jit_switch {
	const char *glob, *text;
	enum language language;
} jit_switches[] = {
	{ "node", NODE, LANGUAGE_JAVASCRIPT },
	{ "nodejs", NODE, LANGUAGE_JAVASCRIPT },
	{ "libnode.so*", NODE, LANGUAGE_JAVASCRIPT },
	{ "deno", "deno" NAME_IT "run deno --v8-flags=--perf-basic-prof" },
	{ "electron", V8 },
	{ "chrom*", V8 },
	{ "libj9jit*", "OpenJ9" NAME_IT "run java -XX:+PerfTool" },
	{ "libjvm.so", JAVA, LANGUAGE_JAVA },
	{ "java", JAVA, LANGUAGE_JAVA },
	{ "libcoreclr.so", DOTNET },
	{ "dotnet", DOTNET },
	{ "mono*", MONO },
	{ "libmono*", MONO },
	{ "beam.smp", ERLANG },
	{ "luajit*", LUAJIT },
	{ "libluajit*", LUAJIT },
	{ "php*", PHP, LANGUAGE_PHP },
	{ "libphp*", PHP, LANGUAGE_PHP },
	{ "ruby*", RUBY, LANGUAGE_RUBY },
	{ "libruby*", RUBY, LANGUAGE_RUBY },
	{ "libjulia*", JULIA },
	{ "postgres", "PostgreSQL" NAME_IT "set jit_profiling_support = on" },
	{ "qemu-*", "QEMU" NAME_IT "run it with -perfmap (QEMU 8 and newer)" },
	{ "wasmtime", "wasmtime" NAME_IT "run wasmtime --profile=perfmap" },
	{ "python3*", PYTHON, LANGUAGE_PYTHON },
	{ "libpython3*", PYTHON, LANGUAGE_PYTHON },
};

static const struct jit_switch *find_switch(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof(jit_switches) / sizeof(jit_switches[0]); i++)
		if (fnmatch(jit_switches[i].glob, name, 0) == 0)
			return &jit_switches[i];
	return NULL;
}

const char *jit_switch_of(const char *path)
{
	const struct jit_switch *found = find_switch(path);

	return found ? found->text : NULL;
}

enum language jit_language_of(const char *path)
{
	const struct jit_switch *found = find_switch(path);

	return found ? found->language : LANGUAGE_NONE;
}

const char *jit_switch_of_any(void)
{
	return "a program" NAME_IT "have it write a perf map, /tmp/perf-PID.map, or a jitdump. For "
	       "example, run jcmd PID "
	       "Compiler.perfmap (Java 17 and newer), node --perf-basic-prof, or python3 -X perf "
	       "(3.12 and newer)";
}
