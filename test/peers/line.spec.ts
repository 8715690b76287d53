import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { LineError } from '../../src/peers/line.ts'
import { pipeOf } from '../../src/peers/pipe.ts'
import { createWorkerLines } from '../../src/peers/worker-lines.ts'
import { processLines } from '../support/process-lines.ts'

/** Why a question has no answer. */
async function reasonOf(answer: Promise<unknown>): Promise<string> {
  return answer.then(
    (value) => `answered ${JSON.stringify(value)}`,
    (error: unknown) => (error instanceof LineError ? error.reason : `threw ${String(error)}`),
  )
}

describe('the line between a worker and the primary', () => {
  it('carries questions and answers, each to who asked', async () => {
    const { primary, workers } = processLines(2)
    primary.answer('square', (n, worker) => [(n as number) ** 2, worker.id])
    const all = workers.flatMap((worker) => [1, 2, 3].map((n) => worker.ask('square', n)))
    expect(await Promise.all(all)).to.deep.equal([
      [1, 1],
      [4, 1],
      [9, 1],
      [1, 2],
      [4, 2],
      [9, 2],
    ])
  })

  it('carries what is asked in one turn in one message, and its answers in one', async () => {
    const { primary, workers, messages } = processLines(1)
    primary.answer('echo', (question) => question)
    await Promise.all(Array.from({ length: 500 }, (_, n) => workers[0]!.ask('echo', n)))
    expect(messages()).to.equal(2)
  })

  it('waits for an answer that is a promise, and lets the others pass it', async () => {
    const { primary, workers } = processLines(1)
    const late = Promise.withResolvers<string>()
    primary.answer('late', () => late.promise)
    primary.answer('soon', () => 'soon')
    const first = workers[0]!.ask('late', null)
    expect(await workers[0]!.ask('soon', null)).to.equal('soon')
    late.resolve('late')
    expect(await first).to.equal('late')
  })

  it('tells one worker, or all, and the primary of one', async () => {
    const { primary, workers } = processLines(2)
    const heard: unknown[] = []
    primary.on('news', (message, from) => heard.push(['primary', message, from.id]))
    for (const worker of workers)
      worker.on('news', (message) => heard.push([worker.id.id, message]))
    workers[1]!.tell('news', 'up')
    primary.tell('news', 'all')
    primary.tell('news', 'one', workers[0]!.id)
    while (heard.length < 4) await turn()
    expect(heard).to.have.deep.members([
      ['primary', 'up', 2],
      [1, 'all'],
      [2, 'all'],
      [1, 'one'],
    ])
  })

  it('lets the primary ask a worker', async () => {
    const { primary, workers } = processLines(2)
    for (const worker of workers) worker.answer('who', () => worker.id.pid)
    const asked = primary.workers().map((worker) => primary.ask(worker, 'who', null))
    expect(await Promise.all(asked)).to.deep.equal([100, 101])
  })

  it('says that it failed, and not why, where who answers throws or nobody does', async () => {
    const { primary, workers, faults } = processLines(1)
    primary.answer('throws', () => {
      throw new Error('a secret')
    })
    const [line] = workers
    for (const topic of ['throws', 'nobody']) {
      const error = await line!.ask(topic, null).catch((thrown: unknown) => thrown)
      expect(error).to.be.instanceOf(LineError).and.include({ reason: 'failed' })
      expect(String(error)).not.to.include('secret')
    }
    expect(faults.map(String)).to.deep.equal([
      'Error: a secret',
      'Error: Nobody answers the topic nobody.',
    ])
  })

  it('gives up a question that has no answer in time', async () => {
    let now = 0
    const { primary, workers, freeze } = processLines(1, {
      answerTimeoutMs: 20,
      monotonic: () => now,
    })
    primary.answer('echo', (question) => question)
    const thaw = freeze()
    const asked = reasonOf(workers[0]!.ask('echo', 1))
    now = 20
    expect(await asked).to.equal('no_answer')
    thaw()
    await turn()
    await turn()
    expect(await workers[0]!.ask('echo', 2)).to.equal(2)
  })

  it('asks a primary that does not answer one question at a time', async () => {
    let now = 0
    const { primary, workers, freeze } = processLines(1, {
      answerTimeoutMs: 20,
      monotonic: () => now,
    })
    primary.answer('echo', (question) => question)
    const [line] = workers
    const thaw = freeze()
    const first = reasonOf(line!.ask('echo', 1))
    now = 20
    expect(await first).to.equal('no_answer')
    const probe = line!.ask('echo', 2)
    expect(await reasonOf(line!.ask('echo', 3))).to.equal('no_answer')
    thaw()
    expect(await probe).to.equal(2)
    expect(await Promise.all([4, 5].map((n) => line!.ask('echo', n)))).to.deep.equal([4, 5])
  })

  it('bounds the questions that wait, the size of a message and what is not read', async () => {
    const { primary, workers, freeze, faults } = processLines(1, {
      questionsMax: 10,
      messageBytesMax: 1000,
    })
    primary.answer('echo', (question) => question)
    primary.answer('long', () => 'x'.repeat(2000))
    const [line] = workers
    expect(await reasonOf(line!.ask('echo', Buffer.alloc(1001)))).to.equal('too_large')
    expect(await reasonOf(line!.ask('long', null))).to.equal('failed')
    const many = await Promise.all(
      Array.from({ length: 11 }, (_, n) => reasonOf(line!.ask('echo', n))),
    )
    expect(many.filter((reason) => reason === 'too_many')).to.have.length(1)
    const thaw = freeze()
    const large = Array.from({ length: 5 }, () => reasonOf(line!.ask('echo', Buffer.alloc(900))))
    expect(await large[4]).to.equal('too_many')
    line!.tell('news', Buffer.alloc(900))
    expect(faults.map((fault) => (fault as LineError).reason)).to.deep.equal([
      'too_large',
      'too_many',
    ])
    thaw()
    expect(
      (await Promise.all(large)).filter((reason) => reason.startsWith('answered')),
    ).to.have.length(4)
  })

  it('ends the questions of a worker and of the primary when either ends', async () => {
    const { primary, workers, freeze } = processLines(2)
    const ended: number[] = []
    primary.onEnded(({ id }) => ended.push(id))
    freeze()
    const [line] = workers
    const asked = [line!.ask('echo', 1), primary.ask(line!.id, 'who', null)].map(reasonOf)
    line!.end()
    expect(await Promise.all(asked)).to.deep.equal(['ended', 'ended'])
    expect(await reasonOf(line!.ask('echo', 2))).to.equal('ended')
    expect(await reasonOf(primary.ask(line!.id, 'who', null))).to.equal('ended')
    expect(ended).to.deep.equal([1])
    expect(primary.workers().map(({ id }) => id)).to.deep.equal([2])
  })

  it('joins real processes, and carries bytes as bytes', async () => {
    const program = join(import.meta.dirname, '../support/line-worker.ts')
    const child = fork(program, { serialization: 'advanced' })
    const limits = { questionsMax: 10, answerTimeoutMs: 10_000, messageBytesMax: 4_000_000 }
    const faults: unknown[] = []
    const primary = createWorkerLines({
      limits,
      monotonic: () => performance.now(),
      onFault: (error) => faults.push(error),
    })
    const worker = { id: 1, pid: child.pid! }
    primary.join(worker, pipeOf(child))
    const bytes = Buffer.alloc(1_500_000, 7)
    const turned = await primary.ask(worker, 'reversed', Buffer.concat([Buffer.from([1]), bytes]))
    expect(Buffer.isBuffer(turned) || turned instanceof Uint8Array).to.equal(true)
    expect((turned as Uint8Array).at(-1)).to.equal(1)
    const ended = once(child, 'exit')
    const asked = reasonOf(primary.ask(worker, 'never', null))
    await sleep(0)
    child.kill('SIGKILL')
    expect(await asked).to.equal('ended')
    await ended
    expect(faults).to.deep.equal([])
  })
})
