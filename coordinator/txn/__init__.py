"""Transactions: who may do what with a transactional id, and how a decided transaction reaches its partitions.

**The id and its pair.** A transactional id is the name of one producer, whichever process plays it. Its coordinator, the partition of
`__transaction_state` that the id hashes to, gives it a producer id and an epoch, here (P, E). Everything the producer sends carries the
pair, and of all processes that know the id only the holder of the newest pair is heard. Giving out a higher epoch is how a successor
shuts its predecessor out: the coordinator refuses the old epoch with 90, and so does (47) every partition that has seen the new one.

**The course of a transaction.**

    InitProducerId      a pair; what the instance before left open is aborted first, and the caller told 51 meanwhile
    add partitions      the first one opens the transaction: Ongoing. By request, or by the Produce itself
    Produce             a transactional batch enters a partition that was added, and no other (while partitions are verified);
                        from there on the last stable offset stands still
    offsets             AddOffsetsToTxn and TxnOffsetCommit: the same, into `__consumer_offsets`, where they stay pending
    EndTxn: prepare     PrepareCommit or PrepareAbort goes into the log. This record is the decision
    markers             one control batch on each partition ends the transaction there; readers may pass
    complete            CompleteCommit or CompleteAbort; the client is answered when all of this is durable

While a new pair is on its way to disk, and from Prepare until Complete is durable, the id is *pending*: whoever asks for a change is
told 51. So no transaction meets the one before it, and of two instances that race one is first.

**Why Prepare is awaited before the first marker.** A marker cannot be taken back: from then on readers see the records, or skip them.
If a marker were on disk and the decision behind it lost with the power, the id would come back Ongoing and be aborted by its timeout,
with one partition committed already. So nothing may be written that outlives its reason. Markers and Complete do not wait for
one another: each follows from Prepare, and whichever is missing after a power cut is written again.

**Two dialects** (KIP-890). The version of the request decides which is spoken, and clients choose it by the level of
`transaction.version` that ApiVersions tells them; 0 and 1 differ only in how records are written (`shard`), 2 brings the second one.

    level 0, 1: EndTxn v0-4                             level 2: EndTxn v5
    AddPartitionsToTxn v0-3 and AddOffsetsToTxn add     Produce v12 and TxnOffsetCommit v5 add by themselves
    an end keeps the epoch: marker (P, E)               an end raises it: marker and next transaction (P, E+1)
    a batch that comes late has a current epoch, and    it has an old epoch: 47
    is refused because its partition is not added
    a repeated EndTxn is known by the state alone       by the epoch before the present one ("retry"), then by the state

Other things raise the epoch in either dialect: InitProducerId by one, and so does an abort that the client did not ask for (timeout, a new
instance, an administrator's marker). At level 2 the fenced client may come back with its old pair, which `last_producer_epoch` remembers;
below it is gone for good. A client never holds an epoch above 32766. What would raise it further gives the id another producer id
(Q, 0): Prepare names both, the last markers of P carry 32767, Complete stands under Q. With KIP-939 a new instance may keep
a prepared transaction: it gets a pair of its own, and the transaction stays under the old one until it is ended.

**What a crash leaves, and who mends it.** Before the first client is served `recovery` compares the ids with what partitions show open.

    durable before the cut                  afterwards
    batches, but not the Ongoing record     the partition shows a transaction that its id does not know: it is added again
    Ongoing                                 nothing that was answered is lost: the client goes on, or `timeouts` aborts
    batches of an id nobody knows           nobody will ever end them: aborted by a marker of their own epoch
    Prepare, and some of its markers        the others are written, those that are there are not written twice; completed
    Prepare of a killed process, unsynced   synced first, for the reason above
    Complete, but not every marker          the missing one is written, with the outcome and epoch that Complete tells
    newer records of the id, then damaged   nothing is decided by the older one: what is open is aborted and fenced (`lost_records`)
    EndTxn that was never answered          one of the two outcomes on all partitions; the client asks again and is told which

The rule behind it: an end that was answered keeps its outcome, everything else may be aborted, nothing stays open for ever. Without a
crash a partition may refuse its marker, too: the client is told that the decision stands, and `marker_phase` tries again from 100 ms on.

**Where it is.** `state`: the table of all events in all states. `decisions`: one method an API; `init_producer_id` and `end_txn` compute
the epochs. `shard`: records to metadata and back. `service`: what handlers call, carries decisions out. `marker_phase`, `markers`,
`marker_channel`: from Prepare to Complete. `recovery`, `lost_records`, `timeouts`, `admin_markers`: what begins
without a client.
"""
