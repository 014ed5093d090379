# Sends a small Kafka request to each ADDRESS:PORT, and when it is answered a large one: at least BYTES pass in
# each direction. It asks about topics that cannot exist, and the answer repeats their names, so a node has
# hardly any work with it. Brokers are asked for metadata, controllers, which have none to tell, for the quorum;
# which of both it is tells the answer to the small request.
# Prints the places where both were answered in time: "ADDRESS:PORT REQUEST_BYTES ANSWER_BYTES SMALL LARGE",
# the bytes of the large ones, and the seconds from the first byte of each request to the last of its answer.
# Usage: transfer.pl SECONDS BYTES ADDRESS:PORT...
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
my $bytes = shift;

my ($METADATA, $API_VERSIONS, $DESCRIBE_QUORUM) = (3, 18, 55);

# Of 249 bytes, the longest that is not refused for its length; with a character that no topic's name has.
my @names = map { my $number = "~$_~"; $number . 'x' x (249 - length $number) } 1 .. 1 + int $bytes / 249;

# Its size, and header v1: API key, version, correlation id 1 and no client id. `body` follows.
sub request {
    my ($key, $version, $body) = @_;
    return pack 'N/a*', pack 'n n N n a*', $key, $version, 1, 0xffff, $body;
}

sub unsigned_varint {
    my ($value) = @_;
    my $found = '';
    for (; $value > 127; $value >>= 7) {
        $found .= chr($value & 127 | 128);
    }
    return $found . chr $value;
}

# MetadataRequest v4 of the names, none of which is to be created.
sub metadata_request {
    return request($METADATA, 4, pack('N', scalar @names) . pack('(n/a*)*', @names) . "\0");
}

# DescribeQuorumRequest v0 of partition 0 of each: with compact arrays and strings, which have 1 more than their
# length before them, and no tagged field ("\0") after the header, each partition, each topic and all of it.
sub quorum_request {
    my $partitions = unsigned_varint(1 + 1) . pack('N', 0) . "\0";
    my $topics = join '', map { unsigned_varint(1 + length) . $_ . $partitions . "\0" } @names;
    return request($DESCRIBE_QUORUM, 0, "\0" . unsigned_varint(1 + @names) . $topics . "\0");
}

# What a node can be asked that answers ApiVersionsRequest v0 so (error, and an array of API key, lowest and
# highest version), if anything.
sub large_request {
    my ($answer) = @_;
    my (undef, undef, $error, undef, @apis) = unpack 'N N n N n*', $answer;
    return if $error;
    my %serves;
    while (my ($key, $lowest, $highest) = splice @apis, 0, 3) {
        $serves{$key} = [$lowest, $highest];
    }
    my $serves = sub {
        my ($lowest, $highest) = @{ $serves{ $_[0] } || return };
        return $lowest <= $_[1] && $_[1] <= $highest;
    };
    return metadata_request() if $serves->($METADATA, 4);
    return quorum_request() if $serves->($DESCRIBE_QUORUM, 0);
    return;
}

my ($asking, $listening, %of) = (IO::Select->new, IO::Select->new);
for my $place (@ARGV) {
    my $socket = IO::Socket::INET->new(PeerAddr => $place, Proto => 'tcp', Blocking => 0) or next;
    $of{$socket} = { place => $place, unsent => request($API_VERSIONS, 0, ''), answer => '' };
    $asking->add($socket);
    $listening->add($socket);
}
while ($listening->count and (my $left = $deadline - now()) > 0) {
    my ($readable, $writable) = IO::Select->select($listening, $asking, undef, $left);
    for my $socket (@{ $writable || [] }) {
        my $one = $of{$socket};
        $one->{began} //= now();
        my $sent = syswrite $socket, $one->{unsent};
        substr($one->{unsent}, 0, $sent, '') if defined $sent;
        $asking->remove($socket) if !defined $sent || !length $one->{unsent};
    }
    for my $socket (@{ $readable || [] }) {
        my $one = $of{$socket};
        my $read = sysread $socket, $one->{answer}, 65536, length $one->{answer};
        my $answered = length $one->{answer} >= 4 && length $one->{answer} >= 4 + unpack 'N', $one->{answer};
        next if $read && !$answered;
        my $took = now() - $one->{began};
        if ($answered and !$one->{size} and my $large = large_request($one->{answer})) {
            @$one{qw(size unsent answer small began)} = (length $large, $large, '', $took, undef);
            $asking->add($socket);
            next;
        }
        printf "%s %d %d %.3f %.3f\n", @$one{qw(place size)}, length $one->{answer}, $one->{small}, $took
            if $answered && $one->{size};
        $asking->remove($socket);
        $listening->remove($socket);
    }
}
