import { expect } from 'chai'
import { createStoredAnswerBytes } from '../../src/policy/answer-store.ts'

describe('the bytes of stored idempotent answers', () => {
  const bytesOf = () => createStoredAnswerBytes(() => 100_000)

  it('are the bytes in the store at each count, written by any process', () => {
    const one = bytesOf()
    one.take('acc_1')
    one.grow('acc_1', 40_000)
    expect(one.refusal('acc_1')).to.equal(undefined)
    one.count([{ accountId: 'acc_1', bytes: 49_000, answers: 1 }])
    expect(one.refusal('acc_1')).to.equal('account')
    one.count([{ accountId: 'acc_2', bytes: 98_000, answers: 1 }])
    expect(one.refusal('acc_1')).to.equal('process')
    one.count([])
    expect(one.refusal('acc_2')).to.equal(undefined)
  })

  it('are never negative when another process removed the returned bytes', () => {
    const one = bytesOf()
    one.count([])
    for (let count = 0; count < 100; count++) one.give('acc_1', 1000)
    one.take('acc_1')
    one.grow('acc_1', 60_000)
    expect(one.refusal('acc_1')).to.equal('account')
  })
})
