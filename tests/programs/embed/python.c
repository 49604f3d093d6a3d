/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a file of Python. Without -fPIC, it has a copy of PyCode_Type; with RUNTIME, of _PyRuntime.
 */
#ifdef RUNTIME
#define Py_BUILD_CORE 1
#endif
#include <Python.h>
#ifdef RUNTIME
#include <internal/pycore_runtime.h>
#endif

int main(int argc, char **argv)
{
	FILE *file = fopen(argv[argc - 1], "r");
	PyObject *code;

	Py_Initialize();
	code = Py_CompileString("1", "text", Py_eval_input);
	if (!file || !code || !PyCode_Check(code))
		return 1;
#ifdef RUNTIME
	if (!_PyRuntime.initialized)
		return 1;
#endif
	return PyRun_SimpleFile(file, argv[argc - 1]);
}
