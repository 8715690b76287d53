import { expect } from 'chai'
import { createSupervisor } from '../../src/process/supervisor.ts'

describe('the supervisor of workers', () => {
  let forked: { id: number; isFirst: boolean }[]
  let pausesMs: number[]
  let ends: { code: number; reason: string | undefined }[]
  let nowMs: number
  beforeEach(() => {
    forked = []
    pausesMs = []
    ends = []
    nowMs = 0
  })

  /** Creates a supervisor whose timers fire at once. */
  const supervise = (count: number) =>
    createSupervisor({
      count,
      fork: (isFirst) => {
        const id = forked.length + 1
        forked.push({ id, isFirst })
        return { id, pid: 1000 + id, kill: () => undefined }
      },
      monotonic: () => nowMs,
      setTimer: (task, delayMs) => {
        pausesMs.push(delayMs)
        task()
      },
      events: { workerStarted: () => undefined, workerEnded: () => undefined },
      onEnd: (code, reason) => void ends.push({ code, reason }),
    })
  const killed = { code: null, signal: 'SIGKILL', signalNumber: 9 } as const
  const failed = { code: 1, signal: null, signalNumber: 0 } as const

  it('starts one worker, and the others when it is ready', () => {
    const supervisor = supervise(3)
    supervisor.start()
    expect(forked).to.deep.equal([{ id: 1, isFirst: true }])
    supervisor.started(1)
    expect(forked.slice(1)).to.deep.equal([
      { id: 2, isFirst: false },
      { id: 3, isFirst: false },
    ])
  })

  it('pauses longer each time workers end, until a minute without ends', () => {
    const supervisor = supervise(2)
    supervisor.start()
    supervisor.started(1)
    supervisor.started(2)
    const endNext = () => {
      const { id } = supervisor.running()[0]!
      supervisor.ended(id, killed)
      supervisor.started(forked.at(-1)!.id)
    }
    for (let count = 0; count < 18; count++) endNext()
    const doubled = [250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000]
    expect(pausesMs).to.deep.equal(doubled.flatMap((pauseMs) => [pauseMs, pauseMs]))
    nowMs = 60_000
    endNext()
    expect(pausesMs).to.have.length(16)
    expect(forked).to.have.length(21)
    expect(ends).to.deep.equal([])
  })

  it('exits with 1 and a message when five starts in a row fail and no worker is left', () => {
    const supervisor = supervise(1)
    supervisor.start()
    supervisor.started(1)
    supervisor.ended(1, killed)
    for (let id = 2; id < 6; id++) supervisor.ended(id, failed)
    expect(ends).to.deep.equal([])
    supervisor.ended(6, failed)
    expect(ends).to.have.length(1)
    expect(ends[0]!.code).to.equal(1)
    expect(ends[0]!.reason).to.match(/^Its workers repeatedly end at their start\./)
    expect(forked).to.have.length(6)
  })

  it('keeps trying while another worker answers', () => {
    const supervisor = supervise(2)
    supervisor.start()
    supervisor.started(1)
    supervisor.started(2)
    supervisor.ended(2, killed)
    for (let id = 3; id < 13; id++) supervisor.ended(id, failed)
    expect(ends).to.deep.equal([])
    expect(supervisor.answering().map(({ id }) => id)).to.deep.equal([1])
    expect(forked).to.have.length(13)
  })

  it('exits with the code of the first worker if that cannot start', () => {
    const supervisor = supervise(2)
    supervisor.start()
    supervisor.ended(1, { code: 78, signal: null, signalNumber: 0 })
    expect(ends).to.deep.equal([{ code: 78, reason: undefined }])
  })
})
