import { expect } from 'chai'
import { createVendorTexts } from '../../../src/providers/transport/vendor-texts.ts'
import { cpuMs } from '../../support/cpu-time.ts'

const keys = ['sk-own-0123456789abcdef', 'sk-ant-0123456789abcdef', 'AIza0123456789abcdef0123456']
const repeated = ['x', 'x.', 'org-', 'eyJ-', 'sk-', '/a', '\\', '…', '*', '\n', '1.', 'http://x ']
const characters = 100_000
/** Time limit. Code with quadratic cost would take ten times as long. */
const allowedMs = 1000

describe('a long text of a vendor', () => {
  const texts = createVendorTexts(keys)
  for (const piece of repeated) {
    it(`that repeats ${JSON.stringify(piece)} does not block the event loop`, () => {
      const text = piece.repeat(characters / piece.length)
      const ms = cpuMs(() => {
        texts.words(text)
        texts.members({ text }, new Set())
      })
      expect(ms).to.be.lessThan(allowedMs)
    })
  }
})
