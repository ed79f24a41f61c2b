#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string.h>

#define MOST 16
#define LONGEST 32

static char names[MOST][LONGEST];
static int count = 0;

static PyObject *add(PyObject *self, PyObject *arguments) {
    const char *name;
    if (!PyArg_ParseTuple(arguments, "s", &name)) {
        return NULL;
    }
    for (int at = 0; at < count; at++) {
        if (strncmp(names[at], name, LONGEST) == 0) {
            return PyErr_Format(PyExc_ValueError, "%s is registered already", name);
        }
    }
    if (count == MOST || strlen(name) >= LONGEST) {
        return PyErr_Format(PyExc_ValueError, "no room for %s", name);
    }
    strcpy(names[count++], name);
    Py_RETURN_NONE;
}

static PyObject *number(PyObject *self, PyObject *none) {
    return PyLong_FromLong(count);
}

static PyMethodDef methods[] = {
    {"add", add, METH_VARARGS, "Registers a codec."},
    {"number", number, METH_NOARGS, "How many codecs there are."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_native", NULL, -1, methods};

PyMODINIT_FUNC PyInit__native(void) {
    return PyModule_Create(&module);
}
