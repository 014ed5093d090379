# Asks "which API versions do you speak?" at each ADDRESS:PORT at once, and prints those that send a byte
# back in time, each with the seconds from the request to that byte.
# Usage: probe.pl SECONDS ADDRESS:PORT...     Runs in the proxy's network; needs perl-base only.
use strict;
use warnings;
use IO::Select;
use IO::Socket::INET;

$SIG{PIPE} = 'IGNORE';

# Seconds since boot, in steps of 10 ms: Time::HiRes is not in perl-base.
sub now { open(my $uptime, '<', '/proc/uptime') or die $!; return (split ' ', <$uptime>)[0] }

my $deadline = now() + shift;

# ApiVersionsRequest v0: size, then header v1 of API key 18, version 0, correlation id 1, client id "probe".
my $request = pack('N/a*', pack('n n N n/a*', 18, 0, 1, 'probe'));

my ($asking, $listening, %place, %sent) = (IO::Select->new, IO::Select->new);
for my $place (@ARGV) {
    my $socket = IO::Socket::INET->new(PeerAddr => $place, Proto => 'tcp', Blocking => 0) or next;
    $place{$socket} = $place;
    $asking->add($socket);
}
while (keys %place) {
    my $left = $deadline - now();
    last if $left <= 0;
    my ($readable, $writable) = IO::Select->select($listening, $asking, undef, $left);
    for my $socket (@{ $writable || [] }) {
        $asking->remove($socket);
        $sent{$socket} = now();
        if (defined syswrite($socket, $request)) { $listening->add($socket) }
        else { delete $place{$socket} }
    }
    for my $socket (@{ $readable || [] }) {
        $listening->remove($socket);
        printf "%s %.2f\n", $place{$socket}, now() - $sent{$socket} if sysread($socket, my $byte, 1);
        delete $place{$socket};
    }
}
