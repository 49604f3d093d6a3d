# SPDX-License-Identifier: GPL-2.0-or-later
# As golden.py: stacks that are known. `golden.rb ROUNDS` ends, and prints its CPU time in milliseconds.
require 'zlib'

DATA = 'x' * (1 << 20)

def spin(n = 10000)
  x = 0
  i = 0
  while i < n
    x += i * i
    i += 1
  end
  x
end

def spin_callback(value)
  spin
  value
end

def callback
  [3, 1, 2].sort_by { |value| spin_callback(value) }
end

class Shape
  def area
    spin_method
  end

  def spin_method
    spin
  end
end

def spin_closure
  spin
end

def closure
  inner = lambda do
    innermost = proc { spin_closure }
    innermost.call
  end
  inner.call
end

def recursion(n)
  n.zero? ? spin_deep : recursion(n - 1)
end

def spin_deep
  spin
end

def spin_handler
  spin
end

def spin_finally
  spin
end

def exception
  raise KeyError, 'golden'
rescue KeyError
  spin_handler
ensure
  spin_finally
end

def spin_generator
  spin
end

def generator
  3.times { yield spin_generator }
end

def generators
  generator { |value| value }
end

def spin_eval
  spin
end

def evaluated
  eval('spin_eval')
end

def spin_fiber
  spin
end

def fiber
  Fiber.new { spin_fiber }.resume
end

def spin_defined
  spin
end

define_method(:defined) { spin_defined }

def spin_thread
  Zlib.crc32(DATA)
end

def worker
  loop { spin_thread }
end

def everything
  callback
  Shape.new.area
  closure
  recursion(99)
  exception
  generators
  evaluated
  fiber
  self.then { |object| object.send(:defined) }
end

if ARGV == ['--version']
  puts "Ruby #{RUBY_VERSION}"
  exit
end
rounds = (ARGV[0] || -1).to_i
Thread.new { worker }
until rounds.zero?
  everything
  rounds -= 1
end
puts (Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) * 1000).to_i
