import { join } from 'node:path'
import { expect } from 'chai'
import { chanceFrom } from '../support/chance.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { readLedger } from '../support/ledger-file.ts'
import { startLoad, type Acknowledged } from '../support/load.ts'
import { printedKey, startServer } from '../support/server-process.ts'

const seed = 20_261_120
const rounds = 20
const callers = 32
const answersMax = 150
const extraDelayMsMax = 15

describe(`a server that is killed ${rounds} times under load`, () => {
  const chance = chanceFrom(seed)
  const acknowledged: Acknowledged[] = []
  const integrity: string[] = []
  let folder: TemporaryFolder
  let dataDir: string
  let cut = 0
  before(async function () {
    this.timeout(600_000)
    folder = makeFolder()
    dataDir = join(folder.path, 'data')
    let key: string | undefined
    for (let round = 0; round < rounds; round++) {
      const server = await startServer({
        folder: folder.path,
        variables: { DATA_DIR: dataDir, LOG_LEVEL: 'silent' },
      })
      key ??= printedKey(server)
      const answersBefore = 1 + chance.below(answersMax)
      const extraDelayMs = chance.below(extraDelayMsMax)
      const load = startLoad({
        url: server.url,
        key: key!,
        callers,
        chance,
        onAnswer: (count) => {
          if (count === answersBefore) setTimeout(() => server.kill('SIGKILL'), extraDelayMs)
        },
      })
      const [{ signal }] = await Promise.all([server.ended, load.over])
      expect(signal).to.equal('SIGKILL')
      acknowledged.push(...load.acknowledged)
      cut += load.cut
      integrity.push(readLedger(dataDir).integrity)
    }
  })
  after(() => folder.remove())

  it('answers calls correctly between its deaths', () => {
    const kinds = Map.groupBy(acknowledged, ({ kind, status }) => `${kind} ${status}`)
    expect([...kinds.keys()].sort()).to.deep.equal([
      'chat 200',
      'failing 502',
      'image 200',
      'stream 200',
    ])
  })

  it('has exactly one row for every completed answer', () => {
    const { rows } = readLedger(dataDir)
    const count = new Map<string, number>()
    for (const { id } of rows) count.set(id, (count.get(id) ?? 0) + 1)
    const lost = acknowledged.filter(({ requestId }) => !count.has(requestId))
    const doubled = [...count.values()].filter((times) => times > 1)
    const kinds = Map.groupBy(acknowledged, ({ kind }) => kind)
    const each = [...kinds].map(([kind, answers]) => `${answers.length} ${kind}`).join(', ')
    process.stdout.write(
      `      ${acknowledged.length} answers acknowledged (${each}), ${cut} cut off, ` +
        `${rows.length} rows, ${lost.length} lost, ${doubled.length} doubled (seed ${seed})\n`,
    )
    expect(lost).to.deep.equal([])
    expect(doubled).to.deep.equal([])
  })

  it('has the cost and tokens of each answer in its row', () => {
    const rows = new Map(readLedger(dataDir).rows.map((row) => [row.id, row]))
    for (const { requestId, status, costUsd } of acknowledged) {
      const row = rows.get(requestId)
      expect(row?.outcome).to.equal(status === 200 ? 'ok' : 'failed')
      if (status === 200) expect(row?.cost_nano_usd).to.equal(Math.round(costUsd! * 1e9))
    }
  })

  it('keeps its store intact', () => {
    expect(integrity).to.deep.equal(Array.from({ length: rounds }, () => 'ok'))
  })
})
