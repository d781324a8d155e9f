"""The journal: one sync for what many logs appended. How it works, and where each rule stands.

A file is safe after its own fdatasync only. A turn of the loop that appends to fifty partitions needs fifty of them before the answers may
leave, and a transaction a second round, because no marker may be on disk without its Prepare. So with `oncelog.journal.bytes` (by default
0, for none) there is one file into which all small batches go, in the order in which they were appended, one *frame* for each sync
(`frames.py`). The logs have them on disk when they have had time (`journal.py`); a start after a power cut puts back what they lack
(`replay.py`, `recovery/salvage.py`).

    append ──▶ frame being collected ──▶ frame on its way ──▶ on disk: the log's file gets the batches, the high watermark moves
       │        (batches held in memory,    (one write,                    │
       │         read as if in their file)   one fdatasync)                └──▶ much later: the log's file is synced
       └──▶ large, or the journal has no room: straight into the log's file, synced with that

**Order.** A batch gets into its log's file when its frame is on disk, not before. What a power cut leaves of the files, in any order and in
pieces, is therefore never ahead of the journal, and the journal loses its end only: one frame is on its way at a time. So all that went
through it is kept up to some point, and lost from there on, over all logs together. That is why markers need not wait for their Prepare
(`coordinator/txn/marker_phase.py`). What goes straight to a file has its place in that log alone, but a marker, which waits in front of its
file until everything that was added before is on disk (`Durability.take`).

**What goes straight.** Batches above 64 KiB; everything while both files are full, or the frame is; the first batches of a new segment,
until a flush has its name on disk; and what follows in the same log until a flush has all that went straight: in a log the order of offsets
is the order on disk. Without `log.flush.on.ack` nobody waits for the disk, and nothing comes here.

**Room.** Two files of half the size each, written in turn. A file is used again when every log whose batches it has is synced. They are,
two at a time, from the moment the other file is begun; nobody waits for it. The files are filled with zeros some way ahead of the frames,
in the background: so a frame's sync has no new length and no new blocks to tell the file system, and a full disk stops no frame.

**Failures.** A failed sync takes those logs offline that wait for the frame, as that of their own file would; the journal is not used again
before the next start. A log whose disk is full when its batches are to be put into the file keeps them in memory, where they can be read,
refuses new ones, and tries again with the next; the journal has them, so they are acknowledged, and a stop leaves it there.

**A start.** After an orderly stop there is no journal: it is removed when all logs are on disk, before the clean marker is written.
Otherwise its files are synced, since a killed process may have left its last frame in the page cache; read; every log is checked as ever,
and wherever its bytes are not whole, or end, the batch with the expected offset is put back if the journal has it. Nothing is ever cut
because of the journal, so damage of it costs what it alone had. When all logs are on disk it is removed. Entries name the topic by its id:
another topic of the same name gets nothing of them. Where checkpoints tell that Apache Kafka has written meanwhile, it does not count.
"""
