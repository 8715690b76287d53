import { expect } from 'chai'
import { ownOperations } from '../support/contract.ts'
import { answered } from './promised.ts'
// Imported into one process, because the last test reads the statuses that these tests saw.
import './operations.ts'
import './administration.ts'
import './in-trouble.ts'
import './permissions.ts'
import './other-origins.ts'

describe('every status that the contract lists', () => {
  it('occurs in a test', () => {
    const listed = ownOperations.flatMap(({ operationId, responses }) =>
      Object.keys(responses).map((status) => `${operationId} ${status}`),
    )
    expect(listed.filter((status) => !answered.has(status))).to.deep.equal([])
  })
})
