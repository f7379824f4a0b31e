// A retry is answered from what is stored with its key: a digest of the request, and the answer. What version 1.1 has remembered has no
// digest, because it is the creation of its animal, and gets its answer in batches before the next migration. Instances of version
// 1.1 may run beside and take over a key that has expired: they leave the answer of the earlier request, which counts only while
// answered_at is created_at.
export default `
  alter table idempotency_keys
    add column if not exists request text,
    add column if not exists answer text,
    add column if not exists answered_at bigint;
`
