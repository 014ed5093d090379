# Sends one Kafka request to each ADDRESS:PORT at once, and prints how far each came, as "ADDRESS:PORT WORD":
#   refused  there was no connection           reset   it was reset (RST)       closed  it was closed (FIN)
#   proxy    nobody answered in time           target  as well, but a connection of the proxy's own has passed
#   source   it was answered                           on the request, and has received an answer
# Usage: reached.pl SECONDS ADDRESS:PORT...     Runs in the proxy's network; needs perl-base and ss.
use strict;
use warnings;
use Errno qw(ECONNRESET EPIPE);
use IO::Select;
use IO::Socket::INET;

$SIG{PIPE} = 'IGNORE';

# Seconds since boot, in steps of 10 ms: Time::HiRes is not in perl-base.
sub now { open(my $uptime, '<', '/proc/uptime') or die $!; return (split ' ', <$uptime>)[0] }

# By local and peer address of each socket: the bytes that it has sent and received.
sub sockets {
    my %found;
    open(my $ss, '-|', 'ss', '--tcp', '--numeric', '--info', '--oneline', '--no-header') or die "ss: $!";
    while (my $line = <$ss>) {
        my (undef, undef, undef, $local, $peer) = split ' ', $line;
        next if !defined $peer;
        my ($sent) = $line =~ /\bbytes_sent:(\d+)/;
        my ($received) = $line =~ /\bbytes_received:(\d+)/;
        $found{"$local $peer"} = [$sent // 0, $received // 0];
    }
    return %found;
}

# The request to the place of this number: ApiVersions v0 with a client id that makes its length its own.
sub request { return pack('N/a*', pack('n n N n/a*', 18, 0, 1, 'probe' . '.' x (200 + shift))) }

my $within = shift;
my %before = sockets();
my $deadline = now() + $within;
my ($asking, $listening, %place, %number, %word) = (IO::Select->new, IO::Select->new);
for my $number (0 .. $#ARGV) {
    my $place = $ARGV[$number];
    $number{$place} = $number;
    $word{$place} = 'refused';
    my $socket = IO::Socket::INET->new(PeerAddr => $place, Proto => 'tcp', Blocking => 0) or next;
    $place{$socket} = $place;
    $asking->add($socket);
}
while ($asking->count + $listening->count) {
    my $left = $deadline - now();
    last if $left <= 0;
    my ($readable, $writable) = IO::Select->select($listening, $asking, undef, $left);
    for my $socket (@{ $writable || [] }) {
        my $place = $place{$socket};
        $asking->remove($socket);
        next if not $socket->connected;
        my $sent = syswrite($socket, request($number{$place}));
        $word{$place} = defined $sent ? 'proxy' : ended();
        $listening->add($socket) if defined $sent;
    }
    for my $socket (@{ $readable || [] }) {
        $listening->remove($socket);
        my $read = sysread($socket, my $byte, 1);
        $word{ $place{$socket} } = $read ? 'source' : defined $read ? 'closed' : ended();
    }
}

sub ended { return $! == ECONNRESET || $! == EPIPE ? 'reset' : 'closed' }

# Connections that the proxy has opened since, by how much it has passed on over them, if that was answered.
my %answered;
my %now = sockets();
for my $socket (grep { !exists $before{$_} } keys %now) {
    my ($sent, $received) = @{ $now{$socket} };
    $answered{$sent} = 1 if $received;
}
for my $place (@ARGV) {
    my $passed_on = $answered{ length request($number{$place}) };
    $word{$place} = 'target' if $word{$place} eq 'proxy' && $passed_on;
    print "$place $word{$place}\n";
}
