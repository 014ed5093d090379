# Sends COUNT Kafka requests of SIZE bytes to each ADDRESS:PORT at once, without waiting for answers in between.
# Prints those that were all answered in time: "ADDRESS:PORT BYTES SECONDS", the bytes of the answers, and the
# time from the first byte of the first request to the last byte of the last answer.
# Usage: transfer.pl SECONDS COUNT SIZE ADDRESS:PORT...   Runs in the proxy's network; needs perl-base only.
use strict;
use warnings;
use IO::Select;
use IO::Socket::INET;

$SIG{PIPE} = 'IGNORE';

# Seconds since boot, in steps of 10 ms: Time::HiRes is not in perl-base.
sub now { open(my $uptime, '<', '/proc/uptime') or die $!; return (split ' ', <$uptime>)[0] }

my $deadline = now() + shift;
my ($count, $size) = splice @ARGV, 0, 2;

# ApiVersionsRequest v0: size, then header v1 of API key 18, version 0, correlation id 1, and a long client id.
my $request = pack('N/a*', pack('n n N n/a*', 18, 0, 1, 'p' x ($size - 14)));
die "a request has at least 14 bytes" if length $request != $size;

# How many answers `$buffer` holds in whole; they are cut from its beginning.
sub answers {
    my ($buffer) = @_;
    my $found = 0;
    while (length $$buffer >= 4 and length $$buffer >= 4 + unpack 'N', $$buffer) {
        substr($$buffer, 0, 4 + unpack('N', $$buffer), '');
        $found++;
    }
    return $found;
}

my ($asking, $listening, %of) = (IO::Select->new, IO::Select->new);
for my $place (@ARGV) {
    my $socket = IO::Socket::INET->new(PeerAddr => $place, Proto => 'tcp', Blocking => 0) or next;
    $of{$socket} = { place => $place, unsent => $request x $count, buffer => '', bytes => 0, lacking => $count };
    $asking->add($socket);
    $listening->add($socket);
}
while ($listening->count) {
    my $left = $deadline - now();
    last if $left <= 0;
    my ($readable, $writable) = IO::Select->select($listening, $asking, undef, $left);
    for my $socket (@{ $writable || [] }) {
        my $one = $of{$socket};
        $one->{began} //= now();
        my $sent = syswrite($socket, $one->{unsent});
        substr($one->{unsent}, 0, $sent, '') if defined $sent;
        $asking->remove($socket) if !defined $sent || !length $one->{unsent};
    }
    for my $socket (@{ $readable || [] }) {
        my $one = $of{$socket};
        my $read = sysread($socket, $one->{buffer}, 65536, length $one->{buffer});
        $one->{bytes} += $read || 0;
        $one->{lacking} -= answers(\$one->{buffer});
        next if $read && $one->{lacking} > 0;
        $listening->remove($socket);
        $asking->remove($socket);
        printf "%s %d %.2f\n", $one->{place}, $one->{bytes}, now() - $one->{began} if $one->{lacking} <= 0;
    }
}
