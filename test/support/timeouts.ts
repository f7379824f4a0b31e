// How long tests wait for PostgreSQL.

import { REQUEST_TIMEOUTS, type Timeouts } from '../../src/database/postgres/timeouts.ts'

/** Ten times as long as the service, so that a busy machine fails no test. Tests of outages use the service's own time-outs. */
export const PATIENT_TIMEOUTS: Timeouts = {
  queueMs: 10 * REQUEST_TIMEOUTS.queueMs,
  connectMs: 10 * REQUEST_TIMEOUTS.connectMs,
  allHostsMs: 10 * REQUEST_TIMEOUTS.allHostsMs,
  statementMs: 10 * REQUEST_TIMEOUTS.statementMs,
}
