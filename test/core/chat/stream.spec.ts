import { expect } from 'chai'
import { uncounted } from '../../../src/bytes/memory-budget.ts'
import fc from 'fast-check'
import { copyEvents } from '../../../src/core/chat/stream.ts'

/** A sink that collects what it receives. `takes` controls backpressure. */
function openSink(takes = true) {
  const pieces: Buffer[] = []
  const write = (piece: Buffer) => {
    pieces.push(piece)
    return takes
  }
  return { passed: () => Buffer.concat(pieces), write, onDrain: () => undefined }
}
const pieces = fc.array(
  fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    fc.uint8Array({ minLength: 5000, maxLength: 20_000 }),
  ),
)

const keeping = (cacheBytesMax: number) => ({
  cacheBytesMax,
  estimateBytesMax: 1_048_576,
  memory: uncounted,
})

describe('the recorded copy of a stream', () => {
  it('has exactly the forwarded bytes', () => {
    fc.assert(
      fc.property(pieces, (written) => {
        const sink = openSink()
        const kept = copyEvents(sink, keeping(10_000_000))
        for (const piece of written) kept.sink.write(Buffer.from(piece))
        expect(kept.events().equals(sink.passed())).to.equal(true)
        expect(kept.complete()).to.equal(true)
      }),
    )
  })

  it('does not change when a forwarded buffer is overwritten later', () => {
    const kept = copyEvents(openSink(), keeping(1000))
    const piece = Buffer.from('data: 1')
    kept.sink.write(piece)
    piece.fill(0)
    expect(String(kept.events())).to.equal('data: 1')
  })

  it('is limited to a mebibyte without caching, while all bytes are forwarded', () => {
    const sink = openSink()
    const kept = copyEvents(sink, keeping(0))
    const piece = Buffer.alloc(300_000, 'a')
    for (let written = 0; written < 5; written++) kept.sink.write(piece)
    expect(kept.events().length).to.equal(900_000)
    expect(kept.complete()).to.equal(false)
    expect(sink.passed().length).to.equal(1_500_000)
  })

  it('reports backpressure of the sink', () => {
    expect(copyEvents(openSink(false), keeping(0)).sink.write(Buffer.from('a'))).to.equal(false)
    expect(copyEvents(openSink(true), keeping(0)).sink.write(Buffer.from('a'))).to.equal(true)
  })
})
