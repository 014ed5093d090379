# Prints "BYTES PATH" of each file in a directory, and in the directories in it, down to a depth.
# Usage: list_files.pl DIRECTORY DEPTH [SUFFIX]     Changes nothing; needs perl-base only.
#
# A broker that runs replaces its checkpoints, by way of another name, and removes what it has put aside. What has
# gone between the reading of a directory and the look at its entry is not there, and no error, as it is for find.
use strict;
use warnings;

my ($home, $depth, $suffix) = @ARGV;
$suffix //= '';
my @lines;

# Of the directory $home/$below, down to so many levels of directories.
sub list {
    my ($below, $levels) = @_;
    my $directory = "$home/$below";
    my $entries;
    if (!opendir($entries, $directory)) {
        return if $!{ENOENT} && $below ne '';
        die "$directory: $!\n";
    }
    $! = 0;
    my @names = readdir($entries);
    die "$directory: $!\n" if $!;
    for my $name (sort @names) {
        next if $name eq '.' || $name eq '..';
        my @found = lstat("$directory$name");
        if (!@found) {
            next if $!{ENOENT};
            die "$directory$name: $!\n";
        }
        if (-d _) {
            list("$below$name/", $levels - 1) if $levels > 1;
        } elsif (-f _ && $name =~ /\Q$suffix\E$/) {
            push(@lines, "$found[7] $below$name\n");
        }
    }
}

list('', $depth);
print @lines;
