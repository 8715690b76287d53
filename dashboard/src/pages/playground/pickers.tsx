import { place, setQuery } from '../../data/place.ts'
import { Field } from '../../elements/field.tsx'
import { modelsMax, type Model } from './models.ts'

/** The models that the address names, of those that there are; else the first one. */
export function chosenOf(models: readonly Model[], parameter: string): readonly Model[] {
  const { query } = place.value
  const named = (query.get(parameter) ?? query.get('model') ?? '').split(',')
  const found = named.flatMap((id) => models.find((one) => one.id === id) ?? [])
  const first = models.find(startsAlone) ?? models[0]
  return found.length > 0 || first === undefined ? [...new Set(found)].slice(0, modelsMax) : [first]
}

/** Whether it is a good one to begin with: it goes on, and needs no picture to edit. */
function startsAlone({ status, image }: Model): boolean {
  return status === 'active' && (image?.reference_images_min ?? 0) === 0
}

type Props = { models: readonly Model[]; chosen: readonly Model[]; parameter: string }

/** Chooses up to three models, which then stand in the address. */
export function Pickers({ models, chosen, parameter }: Props) {
  const choose = (ids: readonly string[]) =>
    setQuery({ [parameter]: [...new Set(ids)].join(',') || undefined })
  const ids = chosen.map(({ id }) => id)
  const next = models.find(({ id, status }) => !ids.includes(id) && status === 'active')
  return (
    <div class="pickers">
      {chosen.map(({ id }, index) => (
        <Field key={index} label={chosen.length === 1 ? 'Model' : `Model ${index + 1}`}>
          {(attributes) => (
            <div class="row picker">
              <select
                {...attributes}
                onChange={({ currentTarget: { value } }) =>
                  choose(ids.map((one, at) => (at === index ? value : one)))
                }
              >
                {models.map((one) => (
                  <option key={one.id} value={one.id} selected={one.id === id}>
                    {one.id}
                    {one.status === 'deprecated' ? ' (deprecated)' : ''}
                  </option>
                ))}
              </select>
              {chosen.length > 1 && (
                <button
                  type="button"
                  class="plain small"
                  aria-label={`Remove ${id}`}
                  onClick={() => choose(ids.filter((one) => one !== id))}
                >
                  Remove
                </button>
              )}
            </div>
          )}
        </Field>
      ))}
      {chosen.length < modelsMax && next !== undefined && (
        <button type="button" class="plain small" onClick={() => choose([...ids, next.id])}>
          Compare with another model
        </button>
      )}
    </div>
  )
}
