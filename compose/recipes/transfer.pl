# Sends Kafka requests of SIZE bytes to each ADDRESS:PORT, until at least BYTES of requests ("to") or of answers
# ("from") have passed. After the first, whose answer says how many that takes, as many are sent at a time as
# have AT_ONCE bytes in that direction, or one, and the next ones PAUSE seconds after all of these are answered.
# Prints the places where all were answered in time: "ADDRESS:PORT REQUESTS BYTES SECONDS", the bytes of the
# answers, and the time in which answers were waited for.
# Usage: transfer.pl SECONDS to|from BYTES AT_ONCE PAUSE SIZE ADDRESS:PORT...
# Runs in the proxy's network; needs perl-base only.
use strict;
use warnings;
use Config;
use IO::Select;
use IO::Socket::INET;

$SIG{PIPE} = 'IGNORE';

# clock_gettime(CLOCK_MONOTONIC) in seconds: Time::HiRes is not in perl-base.
my $CLOCK_GETTIME = $Config{archname} =~ /^x86_64/ ? 228 : 113;
sub now {
    syscall($CLOCK_GETTIME, 1, my $time = "\0" x 16) == 0 or die $!;
    my ($seconds, $ns) = unpack 'qq', $time;
    return $seconds + $ns / 1e9;
}

my $deadline = now() + shift;
my ($direction, $bytes, $at_once, $pause, $size) = splice @ARGV, 0, 5;

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

# All requests so far are answered: asks on, if more have to be.
sub ask_on {
    my ($one) = @_;
    my $passes = $direction eq 'to' ? $size : $one->{bytes} / $one->{asked};
    $one->{count} //= int(($bytes + $passes - 1) / $passes) || 1;
    my $next = int($at_once / $passes) || 1;
    my $left = $one->{count} - $one->{asked};
    $next = $left if $next > $left;
    $one->{unsent} = $request x $next;
    $one->{asked} += $next;
}

my ($asking, $listening, %of, %paused) = (IO::Select->new, IO::Select->new);
for my $place (@ARGV) {
    my $socket = IO::Socket::INET->new(PeerAddr => $place, Proto => 'tcp', Blocking => 0) or next;
    $of{$socket} = {
        place => $place, socket => $socket, unsent => $request, asked => 1, answered => 0, buffer => '',
        bytes => 0, took => 0,
    };
    $asking->add($socket);
    $listening->add($socket);
}
while ($listening->count) {
    for my $one (grep { $paused{$_->{socket}} <= now() } map { $of{$_} } keys %paused) {
        delete $paused{$one->{socket}};
        $asking->add($one->{socket});
    }
    my $now = now();
    last if $now >= $deadline;
    my ($next) = sort { $a <=> $b } $deadline, values %paused;
    my ($readable, $writable) = IO::Select->select($listening, $asking, undef, $next > $now ? $next - $now : 0);
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
        $one->{answered} += answers(\$one->{buffer});
        my $is_done = $one->{answered} == $one->{asked};
        if ($is_done) {
            $one->{took} += now() - delete $one->{began};
            ask_on($one);
            if (length $one->{unsent}) {
                $paused{$socket} = now() + $pause;
                $is_done = 0;
            }
        }
        next if $read && !$is_done;
        $listening->remove($socket);
        $asking->remove($socket);
        delete $paused{$socket};
        printf "%s %d %d %.3f\n", @$one{qw(place count bytes took)} if $is_done;
    }
}
