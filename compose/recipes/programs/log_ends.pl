# Prints "START END DIRECTORY" for each partition below a Kafka data directory: the first offset of its log, and
# the offset after the last whole batch, as a broker that loads it would find them (but for the batches' CRCs).
# Usage: log_ends.pl DIRECTORY     Changes nothing; needs perl-base only.
#
# What Kafka has flushed is taken as it is. From the recovery point on each segment is walked from batch to batch,
# by header. What comes after a batch that is not whole is no part of the log: Kafka truncates there, and
# deletes the segments behind (LogLoader.recoverLog).
use strict;
use warnings;

my $HEADER = 23 + 4;      # of a batch of magic 2, up to the last offset delta
my $SMALLEST = 61;        # a batch without records
my $CHUNK = 1 << 20;
my $WALK = 32 << 20;      # of a longer segment only the end is walked, from an entry of its index

my $home = shift;

# "TOPIC-PARTITION" to offset, from a text checkpoint; nothing if there is none.
sub checkpoint {
    my %offsets;
    open(my $file, '<', "$home/$_[0]") or return \%offsets;
    while (<$file>) { $offsets{"$1-$2"} = $3 if /^(\S+) (\d+) (\d+)$/ }
    return \%offsets;
}

sub bytes {
    my ($file, $at, $count) = @_;
    my $got = '';
    sysseek($file, $at, 0) // die "seek: $!\n";
    defined sysread($file, $got, $count) or die "read: $!\n";
    return $got;
}

# Of a batch: base offset, length behind the first 12 bytes, magic, last offset delta.
my $FIELDS = 'q> N x4 c x6 N';

# Where to begin in a segment of `$size` bytes: at its start, or at the last entry of its index that is $WALK before
# the end. An index is made for its greatest size, with zeros behind its entries.
sub beginning {
    my ($log, $path, $base, $size) = @_;
    return 0 if $size <= $WALK;
    open(my $file, '<:raw', $path =~ s/log$/index/r) or return 0;
    my $index = bytes($file, 0, -s $file);
    my ($low, $high) = (0, int(length($index) / 8));
    while ($low < $high) {
        my $middle = int(($low + $high) / 2);
        my $position = unpack('x4 N', substr($index, 8 * $middle, 8));
        if ($position > 0 && $position <= $size - $WALK) { $low = $middle + 1 } else { $high = $middle }
    }
    return 0 if $low == 0;
    my ($offset, $position) = unpack('N N', substr($index, 8 * ($low - 1), 8));
    my ($first, undef, $magic) = unpack($FIELDS, bytes($log, $position, $HEADER));
    return $magic == 2 && $first >= $base && $first <= $base + $offset ? $position : 0;
}

# (the offset after the last whole batch, whether nothing follows it) of a segment.
sub walk {
    my ($path, $base) = @_;
    open(my $log, '<:raw', $path) or die "$path: $!\n";
    my ($size, $end, $buffer) = (-s $log, $base, '');
    my $at = beginning($log, $path, $base, $size);
    my $from = $at;
    while ($at + $SMALLEST <= $size) {
        if ($at + $HEADER > $from + length $buffer) {
            ($from, $buffer) = ($at, bytes($log, $at, $CHUNK));
            last if length($buffer) < $HEADER;
        }
        my ($first, $length, $magic, $delta) = unpack($FIELDS, substr($buffer, $at - $from, $HEADER));
        my $next = $at + 12 + $length;
        last if $magic != 2 || $first < $end || $delta >= 1 << 31 || $length < $SMALLEST - 12 || $next > $size;
        ($end, $at) = ($first + $delta + 1, $next);
    }
    return ($end, $at == $size);
}

my $flushed = checkpoint('recovery-point-offset-checkpoint');
my $starts = checkpoint('log-start-offset-checkpoint');

opendir(my $entries, $home) or die "$home: $!\n";
for my $name (sort readdir $entries) {
    next if $name !~ /-\d+$/ || $name =~ /^__/ || !-d "$home/$name";
    opendir(my $files, "$home/$name") or die "$home/$name: $!\n";
    my @bases = sort map { /^(\d{20})\.log$/ ? $1 : () } readdir $files;
    next if !@bases;
    my $start = $starts->{$name} // 0;
    $start = $bases[0] + 0 if $start < $bases[0];
    my @whole = grep { $_ <= ($flushed->{$name} // 0) } @bases;
    my $end = $bases[0] + 0;
    for my $base (@bases[(@whole ? $#whole : 0) .. $#bases]) {
        ($end, my $ends_there) = walk("$home/$name/$base.log", $base + 0);
        last if !$ends_there;
    }
    print "$start $end $name\n";
}
