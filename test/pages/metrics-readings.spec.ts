import { expect } from 'chai'
import { shareReadings } from '../../src/pages/metrics.ts'

/** Readings of `readingMs` each. The clock advances only by readings and the pauses between them. */
function readings(readingMs: number) {
  const seen = { begun: 0, rests: [] as number[], fails: false }
  let time = 0
  const read = shareReadings(
    async () => {
      seen.begun++
      const number = seen.begun
      await Promise.resolve()
      time += readingMs
      if (seen.fails) throw new Error('It cannot be read.')
      return { contentType: 'text/plain', text: `reading ${number}` }
    },
    {
      now: () => time,
      sleep: (delayMs) => {
        seen.rests.push(delayMs)
        time += delayMs
        return Promise.resolve()
      },
    },
  )
  const ask = (times: number) =>
    Promise.all(Array.from({ length: times }, () => read().then(({ text }) => text)))
  return { seen, read, ask, pass: (ms: number) => (time += ms) }
}

describe('readings of metrics', () => {
  it('are shared by concurrent requests', async () => {
    const { seen, ask } = readings(5)
    expect(new Set(await ask(200))).to.deep.equal(new Set(['reading 1']))
    expect(seen.begun).to.equal(1)
  })

  it('are repeated for a later request', async () => {
    const { ask } = readings(5)
    expect([await ask(1), await ask(1)]).to.deep.equal([['reading 1'], ['reading 2']])
  })

  it('start after the request, also while an earlier reading runs', async () => {
    const { seen, read } = readings(5)
    const first = read()
    while (seen.begun === 0) await Promise.resolve()
    const second = read()
    expect((await first).text).to.equal('reading 1')
    expect((await second).text).to.equal('reading 2')
  })

  it('pause for four times their duration, up to a maximum', async () => {
    const quick = readings(5)
    await quick.ask(1)
    await quick.ask(1)
    quick.pass(15)
    await quick.ask(1)
    quick.pass(1000)
    await quick.ask(1)
    expect(quick.seen.rests).to.deep.equal([0, 20, 5, 0])
    const slow = readings(5000)
    await slow.ask(1)
    await slow.ask(1)
    expect(slow.seen.rests).to.deep.equal([0, 500])
  })

  it('continue after a failed reading', async () => {
    const { seen, ask } = readings(5)
    seen.fails = true
    const failed = await ask(3).catch((error: Error) => error.message)
    expect(failed).to.equal('It cannot be read.')
    seen.fails = false
    expect(await ask(1)).to.deep.equal(['reading 2'])
  })
})
