#!/usr/bin/perl
# Runs commands one after the other, as long as somebody asks for them.
# A question is one line, "SECONDS WORD...", each word an x and its bytes as hexadecimal digits; after so many
# seconds the command is killed. The answer is "CODE LENGTH", a line end, and as many bytes of stdout and stderr together; CODE is 124 or 137
# after a kill.
use strict;
use warnings;

$| = 1;
binmode STDOUT;
while (my $line = <STDIN>) {
    my ($within, @words) = split ' ', $line;
    my @argv = map { pack 'H*', substr $_, 1 } @words;
    my $pid = open(my $from, '-|') // die "fork: $!";
    if ($pid == 0) {
        open(STDIN, '<', '/dev/null') and open(STDERR, '>&', \*STDOUT) or die "redirect: $!";
        exec('timeout', '-k', '1', $within, @argv) or die "timeout: $!";
    }
    my $output = do { local $/ = undef; <$from> } // '';
    close $from;
    my $code = $? & 127 ? 128 + ($? & 127) : $? >> 8;
    print "$code ", length $output, "\n", $output;
}
