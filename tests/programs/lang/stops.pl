# SPDX-License-Identifier: GPL-2.0-or-later
# Calls of many kinds, for ever. tests/random_stops.py reads the stack in the memory of the stopped program.
use strict;
use warnings;

package Shape {
	use overload '+' => \&add, '""' => sub { return 'shape' . main::inner(2) };

	sub new { return bless { n => $_[1] }, $_[0] }

	sub key {
		my ($self, $x) = @_;
		return main::inner($x) + $self->{n};
	}

	sub add { return $_[0]->key($_[1]) }
}

package Tied {
	sub TIESCALAR { return bless {}, shift }

	sub FETCH { return main::inner(1) }

	sub STORE { main::inner($_[1]); return }
}

package Gone {
	sub DESTROY { main::inner(3); return }
}

package main;

sub inner { return $_[0] * 3 % 7 }

sub recursion {
	my $n = shift;
	return $n ? recursion($n - 1) + 1 : leaf(3);
}

sub leaf {
	my $sum = 0;
	$sum += $_ * $_ for 1 .. $_[0];
	return $sum;
}

sub thrower {
	my $n = shift;
	eval {
		$n ? thrower($n - 1) : die "x\n";
		die "y\n";
	};
	return inner($n);
}

sub by_key { return inner($a) <=> inner($b) }

sub destruction {
	my $object = bless {}, 'Gone';
	undef $object;
	return inner(1);
}

tie my $tied, 'Tied';

sub everything {
	my $shape = Shape->new(2);
	my $closure = sub { return $shape->key($_[0]) + inner($_[0]) };
	while (1) {
		my @list = sort { $shape->key($a) <=> $shape->key($b) } 1 .. 20;
		@list = sort by_key @list;
		@list = map { $closure->($_) } @list;
		@list = grep { inner($_) } @list;
		my $sum = $shape + 3;
		my $text = "$shape";
		recursion(20);
		thrower(5);
		destruction();
		$sum = $tied;
		$tied = $sum;
		($text = 'a1b2c3') =~ s/(\d)/inner($1)/ge;
		eval 'inner(1); leaf(4); 1';
	}
}

$| = 1;
print "ready\n";
everything();
