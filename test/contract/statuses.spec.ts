import { expect } from 'chai'
import { operations } from '../support/contract.ts'
import { answered } from './promised.ts'

/** Its name puts it behind the specs of this folder, which it runs after. */
describe('every status that the contract lists', () => {
  it('has been answered above', () => {
    const listed = operations.flatMap(({ operationId, responses }) =>
      Object.keys(responses).map((status) => `${operationId} ${status}`),
    )
    expect(listed.filter((status) => !answered.has(status))).to.deep.equal([])
  })
})
