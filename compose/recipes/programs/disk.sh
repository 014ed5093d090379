#!/bin/sh
# What a disk helper does to a file-backed ext4 of a node, which holds one of its log directories as kafka/. Runs
# as root with CAP_SYS_ADMIN.
# A file system is mounted in a mount namespace of this process only, and so never longer than this process lives:
# a mount that stayed would keep a node's file system alive over a power cut, and its journal would not be replayed.
set -eu
verb=$1
shift
case $verb in
make | remove | detach | list) ;;
*) [ "${PRIVATE:-}" ] || PRIVATE=1 exec unshare --mount --propagation private sh "$0" "$verb" "$@" ;;
esac

# A mounted device refuses an exclusive opening.
in_use() { ! perl -MFcntl -e 'sysopen(my $f, $ARGV[0], O_RDONLY|O_EXCL) or exit 1' "$1"; }

# Whether a device has a file of this name still: who else cleans up may have detached it, and somebody else got it.
holds() { losetup --list --noheadings --raw --output BACK-FILE "$1" 2>/dev/null | grep -qF "/$2"; }

mounted() { mount -t ext4 -o noatime "$1" /mnt; }

# After a shutdown ext4 still lists directories it has in memory, but opens no file.
# Mounted anew it is well; so if it is not, it was mounted all the time, by somebody who is not of the cluster.
readable() {
    head -c 1 /mnt/kafka/meta.properties >/dev/null || {
        echo "if its power was cut: a process in a mount namespace of its own keeps the file system mounted" >&2
        return 1
    }
}

# The superblock's "journal needs recovery" flag is set while ext4 is mounted, and cleared when it is frozen.
frozen() {
    in_use "$1" && perl -e 'open(my $f, "<", $ARGV[0]) or die "$ARGV[0]: $!"; seek($f, 1024 + 0x60, 0);
        read($f, my $flags, 4) == 4 or die "short read"; exit(unpack("V", $flags) & 4 ? 1 : 0)' "$1"
}

# EXT4_IOC_SHUTDOWN without a flush of the journal (EXT4_GOING_FLAGS_NOLOGFLUSH = 2), on what is mounted here.
shut_down() {
    perl -e 'my $flags = pack("L", 2); open(my $d, "<", "/mnt") or die "/mnt: $!";
        ioctl($d, 0x8004587d, $flags) or die "EXT4_IOC_SHUTDOWN: $!"'
}

# After a shutdown every opening fails, with EIO; another error would say nothing about the file system.
refusal() {
    perl -e 'if (open(my $f, "<", $ARGV[0])) { die "the file system still opens files after its shutdown\n" }
        $!{EIO} or die "$ARGV[0] after the shutdown of its file system: $!\n"; print "$!\n"' \
        /mnt/kafka/meta.properties
}

# DIRECTORY DEPTH [SUFFIX], see there.
list_files() { perl /highwater/list_files.pl "$@"; }

free_in() { df --output=avail --block-size="$1" "$2" | tail -n 1 | tr -d ' '; }

free_mib() { free_in 1M "$1"; }

case $verb in
make) # DIRECTORY RUN MIB DISK...: prints "DISK DEVICE" for each
    # The file's name says whose it is: of its path the kernel forgets the front when this container is gone.
    directory=$1 run=$2 mib=$3
    shift 3
    free=$(free_mib "$directory")
    if [ "$free" -lt 1024 ]; then
        echo "no space left on device: $free MiB are free for the nodes' disks, below 1024" >&2
        exit 1
    fi
    for disk; do
        file=$directory/highwater_${run}_$disk.img
        truncate -s "${mib}M" "$file"
        # The file is all zeros, so nothing need be zeroed in it, and it takes no more room than what is written.
        mkfs.ext4 -q -F -m 0 -E lazy_itable_init=1,lazy_journal_init=1 "$file"
        echo "$disk $(losetup --find --show "$file")"
    done
    ;;
fill) # DIRECTORY DISK=DEVICE...: DIRECTORY/DISK becomes kafka/ on the disk, and is synced
    directory=$1
    shift
    for pair; do
        mounted "${pair#*=}"
        cp -r "$directory/${pair%%=*}" /mnt/kafka
        # Not a bare sync: that would flush every node's disk, and spoil a power cut somewhere else.
        sync -f /mnt
        umount /mnt
    done
    ;;
freeze) # DEVICE
    mounted "$1"
    frozen "$1" || fsfreeze --freeze /mnt
    frozen "$1"
    ;;
thaw) # DEVICE
    if frozen "$1"; then
        mounted "$1"
        fsfreeze --unfreeze /mnt
        ! frozen "$1"
    fi
    ;;
abandon) # DEVICE FILE: thaws it, then cuts its power, so that nobody who waits for it or unmounts it flushes it any more
    if holds "$1" "$2" && in_use "$1"; then
        mounted "$1"
        ! frozen "$1" || fsfreeze --unfreeze /mnt
        shut_down
    fi
    ;;
frozen) # DEVICE: prints yes or no
    if frozen "$1"; then echo yes; else echo no; fi
    ;;
drop) # DEVICE: cuts its power, and prints the error with which a file of it answers since
    mounted "$1"
    shut_down
    refusal
    ;;
fill-up) # DEVICE: takes all space that is free, as files of this name, without writing to it
    mounted "$1"
    readable
    kib=$(free_in 1K /mnt) number=0
    # What was taken before stays so: a file of a name that is in use would only grow.
    while [ -e "/mnt/highwater-filler.$number" ]; do number=$((number + 1)); done
    # The node writes meanwhile: what is not free any more is tried by halves.
    while [ "$kib" -ge 4 ]; do
        if fallocate --length "${kib}KiB" "/mnt/highwater-filler.$number" 2>/dev/null; then
            number=$((number + 1))
        else
            kib=$((kib / 2))
        fi
    done
    ;;
free-up) # DEVICE: gives it back
    mounted "$1"
    rm -f /mnt/highwater-filler.*
    ;;
wipe) # DEVICE [ID]: leaves of the data directory what a formatter makes, as a new directory if ID is given; and syncs
    mounted "$1"
    readable
    find /mnt/kafka -mindepth 1 ! -path /mnt/kafka/meta.properties ! -path /mnt/kafka/bootstrap.checkpoint -delete
    # Before 3.7 a directory has no id.
    [ $# -lt 2 ] || sed -i "s/^directory\.id=.*/directory.id=$2/" /mnt/kafka/meta.properties
    sync -f /mnt
    ;;
logs) # DEVICE: prints "BYTES PATH" of each *.log file
    mounted "$1"
    readable
    list_files /mnt/kafka 2 .log
    ;;
extents) # DEVICE: prints the extents of each *.log file that is not empty, as filefrag does, and syncs nothing
    # Not of what a broker has put aside, and removes at any time.
    mounted "$1"
    readable
    files=$(list_files /mnt/kafka 2 .log)
    echo "$files" | sed -n -E -e '/-(delete|stray)\//d' -e 's|^[1-9][0-9]* |/mnt/kafka/|p' | xargs -r -d '\n' filefrag -e -v
    ;;
ends) # DEVICE: prints "START END DIRECTORY" of each partition's log, see log_ends.pl
    mounted "$1"
    readable
    perl /highwater/log_ends.pl /mnt/kafka
    ;;
show) # PATH DEVICE...: prints PATH on each DEVICE, after a line "== DEVICE"; nothing where it does not exist
    path=$1
    shift
    for device; do
        mounted "$device"
        echo "== $device"
        if [ -f "/mnt/$path" ]; then cat "/mnt/$path" && echo; fi
        umount /mnt
    done
    ;;
files) # DEVICE DIRECTORY: prints "BYTES NAME" of each file in DIRECTORY of the disk
    mounted "$1"
    list_files "/mnt/$2" 1
    ;;
copy) # DEVICE FROM TO NAME...: copies files of the directory FROM of the disk to the new directory TO
    mounted "$1"
    from=/mnt/$2 to=$3
    shift 3
    mkdir -p "$to"
    for name; do cp "$from/$name" "$to/"; done
    ;;
room) # DEVICE: prints the MiB that are free on the disk
    mounted "$1"
    readable
    free_mib /mnt
    ;;
free) # DIRECTORY: prints the MiB that are free there
    free_mib "$1"
    ;;
tree) # DEVICE: prints "BYTES PATH" of each file in the data directory and the directories in it
    mounted "$1"
    readable
    list_files /mnt/kafka 2
    ;;
gather) # DEVICE TO LIKE NAME...: copies files and directories of the data directory, but no index, to the new directory TO
    # A large file that is the same in a directory in LIKE is a link to that one: replicas of one log are alike, and
    # lie in any log directory. It is read past the cache, which spares the processor another copy; not while a
    # broker has it: that would write down what it has not.
    if in_use "$1"; then past_cache=; else past_cache=iflag=direct; fi
    read_large() { dd if="$1" bs=4M $past_cache status=none; }
    mounted "$1"
    to=$2 like=$3
    shift 3
    rm -rf -- "$to"
    mkdir -p "$to"
    cd /mnt/kafka
    find "$@" -type f ! -name '*.index' ! -name '*.timeindex' ! -size +2047 -print0 |
        xargs -0 -r cp --parents --target-directory="$to" --
    find "$@" -type f ! -name '*.index' ! -name '*.timeindex' -size +2047 | while read -r file; do
        mkdir -p "$to/${file%/*}"
        for same in "$like"/*/"$file"; do
            if read_large "$file" | cmp -s - "$same"; then
                ln "$same" "$to/$file"
                break
            fi
        done
        [ -f "$to/$file" ] || read_large "$file" >"$to/$file"
    done
    ;;
detach) # DEVICE FILE: prints "gone" if it has that file no more
    if ! holds "$1" "$2"; then
        echo gone
    else
        losetup --detach "$1" || ! holds "$1" "$2"
    fi
    ;;
list) # DIRECTORY: prints "directory NAME OWNER" for each run that has one, then "device DEVICE FILE" for each loop
    # Its owner is written into a directory at once; one that has none for a minute has been left behind.
    find "$1" -mindepth 1 -maxdepth 1 -type d | while read -r path; do
        if [ -f "$path/owner.json" ] || [ -n "$(find "$path" -maxdepth 0 -mmin +1)" ]; then
            echo "directory ${path##*/} $(cat "$path/owner.json" 2>/dev/null || true)"
        fi
    done
    losetup --list --noheadings --raw --output NAME,BACK-FILE | sed 's/^/device /'
    ;;
remove) # DIRECTORY...
    rm -rf -- "$@"
    ;;
*)
    echo "disk.sh: unknown verb $verb" >&2
    exit 2
    ;;
esac
