# SPDX-License-Identifier: GPL-2.0-or-later
# As golden.py: stacks that are known. `golden.pl ROUNDS` ends, and prints its CPU time in milliseconds.
use strict;
use warnings;

sub spin {
	my ($x, $i) = (0, 0);
	while ($i < 10000) {
		$x += $i * $i;
		$i++;
	}
	return $x;
}

sub spin_callback {
	spin();
	return $_[0] <=> $_[1];
}

sub callback {
	my @sorted = sort { spin_callback($a, $b) } 3, 1, 2;
}

sub spin_compare {
	spin();
	return $a <=> $b;
}

sub compare {
	my @sorted = sort spin_compare 3, 1, 2;
	return @sorted;
}

package Shape {
	sub new { return bless {}, shift }

	sub area {
		my $self = shift;
		my $area = $self->spin_method;
		return $area;
	}

	sub spin_method { my $x = main::spin(); return $x }
}

sub spin_closure { my $x = spin(); return $x }

sub closure {
	my $a = 1;
	my $inner = sub {
		my $innermost = sub { my $x = spin_closure(); return $x + $a };
		my $x = $innermost->();
		return $x;
	};
	my $x = $inner->();
	return $x;
}

sub recursion {
	no warnings 'recursion';
	my $n = shift;
	my $x = $n ? recursion($n - 1) : spin_deep();
	return $x;
}

sub spin_deep { my $x = spin(); return $x }

sub spin_handler { my $x = spin(); return $x }

sub exception {
	eval { die "golden\n" };
	spin_handler() if $@;
	return;
}

sub spin_eval { my $x = spin(); return $x }

sub evaluated {
	my $x = eval 'spin_eval(); 1';
	return $x;
}

package Tied {
	sub TIESCALAR { return bless {}, shift }

	sub FETCH { my $x = main::spin_tied(); return $x }
}

sub spin_tied { my $x = spin(); return $x }

tie my $tied, 'Tied';

sub magic {
	my $x = $tied;
	return $x;
}

package Destroyed {
	sub DESTROY { main::spin_destructor(); return }
}

sub spin_destructor { my $x = spin(); return $x }

sub destruction {
	my $object = bless {}, 'Destroyed';
	undef $object;
	return;
}

sub everything {
	callback();
	compare();
	Shape->new->area;
	closure();
	recursion(99);
	exception();
	evaluated();
	magic();
	destruction();
	return;
}

if ("@ARGV" eq '--version') {
	printf "Perl %vd\n", $^V;
	exit;
}
my $rounds = $ARGV[0] // -1;
for (; $rounds; $rounds--) {
	everything();
}
my @times = times;
printf "%d\n", 1000 * ($times[0] + $times[1]);
