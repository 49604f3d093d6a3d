#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Opens a database with perf's exported-sql-viewer.py, without Qt and a screen: the script's own models ask their
# queries through sqlite3, and the answers are printed. With --schema, prints the columns of each table and
# view that perf's export-to-sqlite.py makes.
#
#   perf_viewer.py FOLDER DATABASE     FOLDER has perf's Python scripts
#   perf_viewer.py --schema FOLDER|DATABASE
import os
import sqlite3
import sys
import tempfile
import types


class Stub(type):
    """A class that has every attribute: each is another such class."""
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return cls


class Qt(metaclass=Stub):
    """Stands for every class of Qt: the models are used, the windows are not."""
    def __init__(self, *args, **kwargs):
        pass

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: Qt()


class Database:
    def setDatabaseName(self, name):
        self.name = name

    def open(self):
        self.connection = sqlite3.connect(self.name, isolation_level=None)
        return True

    @staticmethod
    def addDatabase(*_):
        return Database()


class Query:
    def __init__(self, db):
        self.cursor = db.connection.cursor()
        self.error = ""

    def prepare(self, statement):
        pass

    def exec_(self, statement):
        try:
            self.cursor.execute(statement)
        except sqlite3.Error as error:
            self.error = str(error)
            return False
        return True

    def lastError(self):
        return types.SimpleNamespace(text=lambda: self.error)

    def next(self):
        self.row = self.cursor.fetchone()
        return self.row is not None

    def value(self, column):
        return self.row[column]


def install_stubs():
    for name in ("PySide2", "PySide2.QtCore", "PySide2.QtGui", "PySide2.QtSql", "PySide2.QtWidgets"):
        module = types.ModuleType(name)
        sys.modules[name] = module
    sql = sys.modules["PySide2.QtSql"]
    sql.QSqlDatabase, sql.QSqlQuery = Database, Query


def load(folder, name, argv, stop=None):
    """The script as a module, up to the line that begins with `stop`."""
    path = os.path.join(folder, name)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if stop:
        text = text[:text.index("\n" + stop)]
    sys.argv = argv
    os.environ["PERF_EXEC_PATH"] = "/nonexistent"
    sys.path.insert(0, folder)
    code = compile(text, path, "exec")
    for name in names_of(code):
        if name[0] == "Q" and name not in ("QSqlDatabase", "QSqlQuery") or name == "Signal":
            setattr(sys.modules["PySide2.QtCore"], name, Stub(name, (Qt,), {}))
    space = {"__name__": "perf_script"}
    exec(code, space)
    return space


def names_of(code):
    """All names that the script uses, also in its functions."""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from names_of(constant)
    yield from code.co_names


def schema(path):
    db = sqlite3.connect(path)
    names = db.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name").fetchall()
    for (name,) in names:
        print(name + ":", *(row[1] for row in db.execute(f"PRAGMA table_info({name})")))


def perf_schema(folder):
    with tempfile.TemporaryDirectory() as room:
        path = os.path.join(room, "perf.db")
        out, sys.stdout = sys.stdout, open(os.devnull, "w", encoding="utf-8")
        load(folder, "export-to-sqlite.py", ["export", path, "all", "calls"], "evsel_query = ")
        sys.stdout = out
        schema(path)


def walk(item, depth, out):
    """All rows of a tree model: its items ask the database when their children are needed."""
    for row in range(item.childCount()):
        child = item.getChildItem(row)
        out.append("  " * depth + " | ".join(str(child.getData(column)) for column in range(len(child.data))))
        walk(child, depth + 1, out)


def view(folder, path):
    s = load(folder, "exported-sql-viewer.py", ["viewer", path], "# Main")
    db = Database()
    db.setDatabaseName(path)
    db.open()
    glb = types.SimpleNamespace(db=db, dbref=types.SimpleNamespace(is_sqlite3=True, TRUE="1"))
    print("tables:", *s["GetTableList"](glb))
    print("events:", *s["GetEventList"](db))
    for name in ("CallGraphRootItem", "CallTreeRootItem"):
        rows = []
        walk(s[name](glb, s["CallGraphModelParams"](glb)), 1, rows)
        print(name, len(rows))
        print("\n".join(rows))


if __name__ == "__main__":
    install_stubs()
    if sys.argv[1] == "--schema":
        (perf_schema if os.path.isdir(sys.argv[2]) else schema)(sys.argv[2])
    else:
        view(sys.argv[1], sys.argv[2])
