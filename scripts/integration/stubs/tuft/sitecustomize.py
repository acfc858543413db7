"""
Stands in for the GPU libraries that TuFT imports at its start and, under TUFT_CPU_TEST=1, never calls: any attribute of
theirs is an empty class that returns its decorated function.
"""

import importlib.abc
import importlib.machinery
import sys
import types

ABSENT = {"torch", "ray", "peft"}


class Stub(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Stub(name, (), {})

    def __call__(cls, *args, **kwargs):
        return args[0] if len(args) == 1 and callable(args[0]) and not kwargs else Stub("result", (), {})


class Module(types.ModuleType):
    __path__ = []
    __version__ = "2.11.0"

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Stub(name, (), {})


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ABSENT:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return Module(spec.name)

    def exec_module(self, module):
        pass


sys.meta_path.append(Finder())
