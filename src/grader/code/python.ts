/**
 * What a Python process runs: it reads its job from file descriptor 3 and answers on 4, one line a message
 * (see job.ts), so that nothing a solution prints is taken for an answer. Values cross as JSON with tags for what JSON
 * lacks; an object of any other kind crosses as its type's name, which equals nothing.
 *
 * Works from Python 3.6 on.
 */
export const PYTHON = String.raw`
import sys
sys.path[1:], sys.argv = sys.argv[1:], ['solution.py']
import builtins, json, os, types

builtins.exit = builtins.quit = sys.exit
if hasattr(sys, 'set_int_max_str_digits'):
    sys.set_int_max_str_digits(0)
reader = open(3, 'rb', closefd=False)

def send(kind, value=None, write=os.write, dumps=json.dumps):
    data = memoryview((kind + dumps(value) + '\n').encode())
    while data:
        data = data[write(4, data):]

def receive():
    line = reader.readline()
    if not line:
        os._exit(0)
    return line[:1], json.loads(line[1:])

def pack(v):
    if v is None or isinstance(v, (bool, str, int)):
        return v
    if isinstance(v, float):
        return v if v - v == 0 else {'$': 'float', 'v': 'NaN' if v != v else 'Infinity' if v > 0 else '-Infinity'}
    if isinstance(v, list):
        return [pack(x) for x in v]
    if isinstance(v, tuple):
        return {'$': 'tuple', 'v': [pack(x) for x in v]}
    if isinstance(v, dict):
        if all(isinstance(k, str) for k in v) and '$' not in v:
            return {k: pack(x) for k, x in v.items()}
        return {'$': 'dict', 'v': [[pack(k), pack(x)] for k, x in v.items()]}
    if isinstance(v, (set, frozenset)):
        return {'$': 'set', 'v': [pack(x) for x in v]}
    if isinstance(v, complex):
        return {'$': 'complex', 'v': [v.real, v.imag]}
    if isinstance(v, (bytes, bytearray)):
        return {'$': 'bytes', 'v': list(v)}
    if type(v).__module__ == 'numpy' and hasattr(v, 'tolist'):
        return pack(v.tolist())
    return {'$': 'object', 'v': type(v).__name__}

class Foreign:
    def __init__(self, name):
        self.name = name
    def __repr__(self):
        return '<an object of type %s>' % self.name

def unpack(v):
    if isinstance(v, list):
        return [unpack(x) for x in v]
    if not isinstance(v, dict):
        return v
    tag, inner = v.get('$'), v.get('v')
    if tag is None:
        return {k: unpack(x) for k, x in v.items()}
    if tag == 'bigint':
        return int(inner)
    if tag == 'float':
        return float(inner)
    if tag == 'tuple':
        return tuple(unpack(x) for x in inner)
    if tag == 'dict':
        return {unpack(k): unpack(x) for k, x in inner}
    if tag == 'set':
        return set(unpack(x) for x in inner)
    if tag == 'complex':
        return complex(*inner)
    if tag == 'bytes':
        return bytes(inner)
    return Foreign(inner)

def text_of(error):
    try:
        return str(error)[:300]
    except BaseException:
        return ''

def describe(error):
    text = text_of(error)
    return type(error).__name__ + (': ' + text if text else '')

def compiled(sources, name):
    first = None
    for source in sources:
        try:
            return compile(source, name, 'exec', dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
            first = first or error
    raise first

def module(name):
    made = sys.modules[name] = types.ModuleType(name)
    return made.__dict__

PRELUDE = '''
from bisect import *
from collections import *
from copy import *
from functools import *
from heapq import *
from itertools import *
from math import *
from operator import *
from random import *
from string import *
from typing import *
from builtins import *
import bisect, collections, copy, functools, heapq, itertools, math, operator, random, re, string, sys
sys.setrecursionlimit(50000)
'''

def load(job, name):
    try:
        code = compiled(job['sources'], 'solution.py')
    except BaseException as error:
        send('E', describe(error))
        os._exit(1)
    space = module(name)
    if job['prelude']:
        exec(PRELUDE, space)
    return code, space

def script(job):
    code, space = load(job, '__main__')
    exec(code, space)

def serve(job):
    code, space = load(job, 'solution')
    exec(code, space)
    name = job['entry']
    solution = space.get('Solution')
    if callable(space.get(name)):
        make = lambda: space[name]
    elif hasattr(solution, name):
        make = lambda: getattr(solution(), name)
    else:
        raise NameError("the function '%s' is not defined" % name)
    send('L')
    while True:
        args, kwargs = receive()[1]
        try:
            value = pack(make()(*unpack(args), **unpack(kwargs)))
            send('R', value)
        except BaseException as error:
            send('X', [type(error).__name__, text_of(error)])

def call(*args, **kwargs):
    send('C', [pack(list(args)), pack(kwargs)])
    kind, value = receive()
    if kind == b'R':
        return unpack(value)
    base = getattr(builtins, value[0], None)
    try:
        error = base(value[1])
        assert isinstance(error, Exception)
    except BaseException:
        error = Exception(value[1])
    error.remote = value
    raise error

def where(error, tests):
    line, trace = None, error.__traceback__
    while trace:
        if trace.tb_frame.f_code.co_filename == 'tests.py':
            line = tests.splitlines()[trace.tb_lineno - 1].strip()
        trace = trace.tb_next
    return describe(error) + (' at: ' + line if line else '')

def run_tests(job, space, entry, token):
    try:
        code = compiled([job['tests']], 'tests.py')
    except BaseException as error:
        send('T', describe(error))
        return
    try:
        exec(code, space)
        if entry and callable(space.get('check')):
            space['check'](entry)
    except BaseException as error:
        remote = getattr(error, 'remote', None)
        send('V', {'passed': False, 'remote': remote and remote[0], 'detail': where(error, job['tests'])})
    else:
        send('V', {'passed': True, 'token': token})

def judge(job):
    space = module('tests')
    try:
        exec(compiled(job['setup'], 'prompt.py'), space)
    except BaseException:
        pass
    space[job['entry']] = call
    run_tests(job, space, call, None)

def together(job):
    token = job.pop('token')
    code, space = load(job, 'solution')
    exec(code, space)
    run_tests(job, space, None, token)

job = receive()[1]
{'script': script, 'serve': serve, 'judge': judge, 'together': together}[job['mode']](job)
`
