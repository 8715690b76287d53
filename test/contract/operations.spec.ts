import { expect } from 'chai'
import { ownOperations } from '../support/contract.ts'
import { answered } from './promised.ts'
// In one process, since what they saw is looked at below.
import './operations.ts'
import './administration.ts'
import './in-trouble.ts'
import './permissions.ts'
import './other-origins.ts'

describe('every status that the contract lists', () => {
  it('has been answered above', () => {
    const listed = ownOperations.flatMap(({ operationId, responses }) =>
      Object.keys(responses).map((status) => `${operationId} ${status}`),
    )
    expect(listed.filter((status) => !answered.has(status))).to.deep.equal([])
  })
})
