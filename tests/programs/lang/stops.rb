# SPDX-License-Identifier: GPL-2.0-or-later
# Calls of many kinds, for ever. SIGUSR1 has Ruby's own rb_backtrace() write the stack, to standard error (tests/random_stops.py).
require "fiddle"

signal = Fiddle::Function.new(Fiddle.dlopen(nil)["signal"], [Fiddle::TYPE_INT, Fiddle::TYPE_VOIDP], Fiddle::TYPE_VOIDP)
signal.call(10, Fiddle.dlopen(nil)["rb_backtrace"])

class Shape
  def initialize(n)
    @n = n
  end

  def key(x)
    inner(x) + @n
  end
end

def inner(x)
  x * 3 % 7
end

def recursion(n)
  n.zero? ? leaf(3) : recursion(n - 1) + 1
end

def leaf(n)
  (1..n).sum { |i| i * i }
end

def thrower(n)
  n.zero? ? raise("x") : thrower(n - 1)
rescue RuntimeError
  inner(n)
ensure
  inner(n)
end

def everything
  shape = Shape.new(2)
  closure = ->(v) { shape.key(v) + inner(v) }
  loop do
    (1..20).sort_by { |x| shape.key(x) }
    (1..20).map(&closure)
    recursion(20)
    thrower(5)
    eval("inner(1)")
  end
end

$stdout.puts "ready"
$stdout.flush
everything
