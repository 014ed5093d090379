# Asks the node's JVM what time its own clock shows, and prints "BEFORE TIME AFTER": the true time before and
# after, in ns since 1970, and between them the JVM's, as in 2026-11-22T22:00:00.123+0000.
# Runs in the node's container, whose JVM was started with -XX:+StartAttachListener; needs perl-base only.
use strict;
use warnings;
use IO::Socket::UNIX;

$SIG{PIPE} = 'IGNORE';

# What this process starts shows the true time.
delete $ENV{LD_PRELOAD};
sub true_ns { my $ns = qx(date +%s%N); chomp $ns; return $ns }

my $socket = IO::Socket::UNIX->new(Peer => '/tmp/.java_pid1') or die "the JVM takes no question: $!\n";

# HotSpot's attach protocol, version 1: a command and its three arguments, each ended by a zero byte.
my $question = join '', map { "$_\0" } ('1', 'jcmd', 'VM.uptime -date', '', '');
my $before = true_ns();
syswrite($socket, $question) == length $question or die "the JVM takes no question: $!\n";
my $answer = do { local $/ = undef; <$socket> } // '';
my $after = true_ns();

# The answer is its status, 0, and on the next line "TIME: SECONDS s".
$answer =~ /\A0\n(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d{4}): / or die "the JVM answers: $answer\n";
print "$before $1 $after\n";
