"""One partition's log. How it works, and where each rule stands.

Four offsets, always in this order:

    log start  <=  last stable offset  <=  high watermark  <=  log end

* The *log end* is the offset that the next record gets. An append moves it, at once (`log.py`).
* The *high watermark* is where readers stop. It moves to the *durable end* when the flush is done that covers it (`durability.py`); with
  log.flush.on.ack=false it moves with the log end, and the durable end follows behind. Who asked for an acknowledgement waits for it
  (`watchers.py`). With followers it would be the lower of the durable end and what all of them have.
* The *last stable offset* is where readers of committed records stop: the first offset of the earliest open transaction, or of one whose
  marker is not below the high watermark yet, else the high watermark (`producer_state.py`). Markers move it.
* The *log start* is the first offset that is served. Retention and DeleteRecords move it, never beyond the high watermark; it is on disk
  before a file below it goes (`upkeep/retention.py`). Compaction moves none of the four.

Beside them the *recovery point*: below it data, indexes and producer snapshots are on disk, so that a start reads nothing there.

A batch on its way in: its bytes and records are checked, and stamped or packed again where the topic wants it (`validation.py`) · its
producer is checked: epoch, sequence, duplicate (`producer_checks.py`) · the segment is rolled if it must be (`rolling.py`) · offset and
leader epoch are put into the header and the batch is written (`segment.py`, `segment_file.py`) · the producer's state takes it in
(`producer_state.py`) · a flush is asked for (`flush.py`). Where there is a journal (`storage/journal/`) a small batch goes to that, and
into the file when the journal has it on disk (`durability.py`); it is read from memory until then. All of that is one turn of the loop.
What most small producers send goes this way in one straight line, at a quarter of the cost (`plain_append.py`), and so does what the broker
writes itself: records of its coordinators, and markers (`own_append.py`). Until the write nothing has
changed, so a refusal leaves no trace; a write that fails cuts the file back, and unless the disk was only full the log is offline from then
on. A failed fdatasync is final.

A marker goes the same way (`Log.append_marker`). An abort is in the `.txnindex` before the transaction counts as ended: nobody may read
its records as committed in between.

On its way out: the batch that holds the asked offset is found by the index (`segment.py`), and whole batches are handed on as they are
stored (`whole_batches.py`), long answers from the file itself (`stored_records.py`), with the aborted transactions that overlap them
(`reader.py`).

A segment that a read comes upon in doubt, because its batches are damaged, its indexes lie or its aborted transactions were never compared
with their markers, is looked at and mended by another thread, in a copy that then takes its place (`mending.py`, `segment_draft.py`). Who
needs it meanwhile waits as for new data; appends go on in a new segment. In a short log aborted transactions are compared at once. What
mending means stands in `storage/recovery/`.

What a crash may leave: bytes behind the durable end, whole, torn or none, in any order; indexes, snapshots and leader epochs that end
earlier than the data, or are torn; a file replaced by half (`swap.py`, whose names tell how far it went). Never: a hole below the durable
end. What is done about each is in `storage/recovery/`.

Not built, and where it would stand: a follower appends bytes that have their offsets already (`Log._write` behind the checks), and
truncates to what its leader has (segments, leader epochs, `.txnindex`, and producer state again by `replay.py`).
"""
