import { join } from 'node:path'
import { chanceFrom } from '../../test/support/chance.ts'
import { startProgram } from '../../test/support/program.ts'
import { until } from '../../test/support/until.ts'
import { fetchJson } from './administration.ts'
import type { Attack, Context, Outcome } from './attack.ts'
import {
  ledgerFaults,
  noteReservations,
  passDeadlines,
  reservationsIn,
  rowsOf,
} from './money-ledger.ts'
import {
  askUntilGone,
  newRun,
  openPayer,
  routes,
  type Payer,
  type Receipt,
  type Seen,
} from './money-calls.ts'
import type { Target } from './target.ts'

const kills = { full: 8, quick: 2 }
const answersMax = { full: 400, quick: 100 }
/** Number of callers per key. */
const callers = 5

/**
 * Makes calls of all kinds on budgets while the process is killed repeatedly: receipts of callers, ledger,
 * reports, budgets and recomputed costs must agree.
 */
export const money: Attack = { name: 'money', startsOwn: true, run }

async function run({ start, seed, dose, project }: Context): Promise<Outcome> {
  const chance = chanceFrom(seed)
  const seen: Seen = { receipts: [], statuses: new Map(), cut: 0, left: 0 }
  const options = { routes }
  let target = await start(options)
  const { dataDir } = target
  noteReservations(dataDir)
  const payers = [await openPayer(target), await openPayer(target)]
  const word = newRun()
  for (let kill = 0; kill < kills[dose]; kill++) {
    if (kill > 0) target = await start({ ...options, dataDir })
    const { url } = target
    let answersLeft = 1 + chance.below(answersMax[dose])
    const onAnswer = () => {
      if (--answersLeft === 0) target.kill('SIGKILL')
    }
    const asking = payers.flatMap(({ keys }, account) =>
      keys.flatMap((key) =>
        Array.from({ length: callers }, () =>
          askUntilGone({ url, key, account, run: word, chance, seen }, onAnswer),
        ),
      ),
    )
    await Promise.all([target.ended, ...asking])
  }
  target = await start({ ...options, dataDir })
  const abandoned = reservationsIn(dataDir)
  passDeadlines(dataDir)
  await until('no reservation is left', () => reservationsIn(dataDir) === 0)
  const faults = [
    ...receiptFaults(seen.receipts, dataDir),
    ...ledgerFaults(dataDir),
    ...(await reportFaults(target, payers)),
    ...(await recomputeFaults(project, dataDir)),
  ]
  await target.stop()
  const statuses = [...seen.statuses].sort(([one], [other]) => one - other)
  const [rows] = rowsOf(
    dataDir,
    'select count(*) count, sum(cost_nano_usd) nano, sum(cost_nano_usd is null) unknown from usage',
  )
  return {
    tried: seen.receipts.length,
    failures: faults.map((what) => ({ what, request: '' })),
    figures: {
      kills: kills[dose],
      answers: statuses.map(([status, count]) => `${status}: ${count}`).join(', '),
      'cut off': seen.cut,
      left: seen.left,
      rows: Number(rows!['count']),
      'nano-dollars': Number(rows!['nano']),
      'of unknown cost': Number(rows!['unknown']),
      'released reservations': abandoned,
    },
  }
}

/** Each receipt needs a row with the same cost. Each idempotency key must have one request id only. */
function receiptFaults(receipts: readonly Receipt[], dataDir: string): string[] {
  const rows = rowsOf(dataDir, 'select id, cost_nano_usd from usage')
  const costs = new Map(rows.map((row) => [row['id'], row['cost_nano_usd']]))
  const ofRows = receipts.flatMap(({ requestId, kind, costUsd }) => {
    if (!costs.has(requestId)) return [`An answer (${kind}) has no row: ${requestId}.`]
    const recorded = costs.get(requestId)
    if (costUsd === undefined) return [`An answer (${kind}) reports no cost: ${requestId}.`]
    const reported = costUsd === null ? null : Math.round(costUsd * 1e9)
    return reported === recorded
      ? []
      : [
          `An answer (${kind}) reports ${reported}, the ledger has ${String(recorded)}: ${requestId}.`,
        ]
  })
  const named = Map.groupBy(receipts, ({ name }) => name)
  named.delete(undefined)
  const doubled = [...named].filter(
    ([, answers]) => new Set(answers.map(({ requestId }) => requestId)).size > 1,
  )
  return [
    ...ofRows,
    ...doubled.map(([name]) => `Two requests were made for the idempotency key ${name}.`),
  ]
}

type Report = { total: { calls: number; cost: { nano_usd: number } } }

/** Compares each account's usage report with the account's rows in the ledger. */
async function reportFaults({ url, dataDir }: Target, payers: readonly Payer[]): Promise<string[]> {
  const faults = payers.map(async ({ accountId, adminKey }) => {
    const { total } = await fetchJson<Report>(url, '/api/usage', adminKey)
    const [row] = rowsOf(
      dataDir,
      `select count(*) || ' calls for ' || coalesce(sum(cost_nano_usd), 0) recorded
       from usage where account_id = '${accountId}' and mode = 'live'`,
    )
    const reported = `${total.calls} calls for ${total.cost.nano_usd}`
    return reported === row!['recorded']
      ? []
      : [`The report of an account has ${reported}, the ledger ${String(row!['recorded'])}.`]
  })
  return (await Promise.all(faults)).flat()
}

/** `npm run recompute` must find no difference. */
async function recomputeFaults(project: string, dataDir: string): Promise<string[]> {
  const words = [join(project, 'scripts/recompute.ts'), dataDir]
  const { code, stdout, stderr } = await startProgram(process.execPath, words, { folder: project })
    .ended
  const isWhole =
    code === 0 && stdout.includes('\n0 differences\n') && stdout.includes(', 0 of them')
  return isWhole ? [] : [`recompute exits with ${code}: ${stdout}${stderr}`]
}
