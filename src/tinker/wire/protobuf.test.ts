import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { WireError } from './bytes.js'
import { requests, sampleResultJson, trainResultJson } from './endpoints.js'
import {
  sampleResultOfJson,
  sampleResultToJson,
  trainDataOfJson,
  trainRequestToJson,
  trainResultOfJson,
  trainResultToJson,
} from './json.js'
import type { ForwardBackwardOutput, ForwardBackwardRequest, SampleResponse, Tensor } from './messages.js'
import {
  decodeForwardBackwardOutput,
  decodeForwardBackwardRequest,
  decodeSampleResponse,
  encodeForwardBackwardOutput,
  encodeForwardBackwardRequest,
  encodeSampleResponse,
} from './protobuf.js'

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
const floats = (...values: number[]): Tensor => ({ dtype: 'float32', data: Float32Array.from(values) })
const ints = (...values: number[]): Tensor => ({ dtype: 'int64', data: Int32Array.from(values) })

/** Bytes that the Python SDK's own messages give. */
const golden = {
  request:
    '0a016d10011a7f0a100a0e0a0c050000000600000007000000121e0a0a616476616e746167657312100a0c000000000000803f0000803f1801121c0a086c6f6770726f627312100a0c00000000000080bf000000c01801122d0a0d7461726765745f746f6b656e73121c0a1806000000000000000700000000000000080000000000000018022213696d706f7274616e63655f73616d706c696e67',
  output:
    '0a0d583a41727261795265636f7264123d0a017412360a086c6f6770726f6273122a0a0c000000bf000080bf000000c01218000000000000000008000000000000000c00000000000000180118021a130a086c6f73733a73756d11000000000000f83f',
  sample: '0a1e0801120c0b0000000c0000000d0000001a0c9a9999be9a9999be9a9999be12080000c07fcdccccbd',
}

const request: ForwardBackwardRequest = {
  modelId: 'm',
  seqId: 1,
  data: [
    {
      tokens: Int32Array.of(5, 6, 7),
      inputs: { target_tokens: ints(6, 7, 8), logprobs: floats(0, -1, -2), advantages: floats(0, 1, 1) },
    },
  ],
  lossFn: 'importance_sampling',
  lossFnConfig: {},
  forwardOnly: false,
}

/** JSON has no -0. */
const unsigned = (value: number) => value + 0
const arbFloat = fc.float({ noNaN: true, noDefaultInfinity: true }).map(unsigned)
const arbTensor: fc.Arbitrary<Tensor> = fc.oneof(
  fc.array(arbFloat, { maxLength: 9 }).map((values) => ({
    dtype: 'float32' as const,
    data: Float32Array.from(values),
    shape: [values.length],
  })),
  fc.array(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), { maxLength: 9 }).map((values) => ({
    dtype: 'int64' as const,
    data: Int32Array.from(values),
    shape: [values.length],
  })),
)
const arbName = fc.constantFrom('target_tokens', 'logprobs', 'advantages', 'weights', 'loss:sum')
const arbNumbers = fc.dictionary(arbName, fc.double({ noNaN: true, noDefaultInfinity: true }).map(unsigned), {
  noNullPrototype: true,
})
const arbRecord = fc.dictionary(arbName, arbTensor, { noNullPrototype: true })
const arbTokens = fc.array(fc.nat(), { maxLength: 9 }).map((values) => Int32Array.from(values))

const arbRequest: fc.Arbitrary<ForwardBackwardRequest> = fc.record({
  modelId: fc.string(),
  seqId: fc.nat(),
  data: fc.array(fc.record({ tokens: arbTokens, inputs: arbRecord }), { maxLength: 4 }),
  lossFn: fc.string(),
  lossFnConfig: arbNumbers,
  forwardOnly: fc.boolean(),
})

/** Outputs have names in common or not, but a name has one type of values throughout. */
const arbOutput: fc.Arbitrary<ForwardBackwardOutput> = fc.record({
  type: fc.string().map((name) => name.replaceAll(':', '')),
  outputs: fc.array(
    fc.record(
      {
        logprobs: arbTensor.filter(({ dtype }) => dtype === 'float32'),
        ids: arbTensor.filter(({ dtype }) => dtype === 'int64'),
      },
      { requiredKeys: [], noNullPrototype: true },
    ) as fc.Arbitrary<Record<string, Tensor>>,
    { maxLength: 5 },
  ),
  metrics: arbNumbers,
})

const arbLogprobs = fc.array(fc.oneof(arbFloat, fc.constant(Number.NaN)), { maxLength: 9 })
const arbSample: fc.Arbitrary<SampleResponse> = fc.record(
  {
    sequences: fc.array(
      fc.record(
        {
          tokens: arbTokens,
          logprobs: arbLogprobs.map((values) => Float32Array.from(values)),
          stopReason: fc.constantFrom('stop' as const, 'length' as const),
        },
        { requiredKeys: ['tokens', 'stopReason'], noNullPrototype: true },
      ),
      { maxLength: 4 },
    ),
    promptLogprobs: arbLogprobs.map((values) => Float32Array.from(values)),
    topkPromptLogprobs: fc.constant({
      k: 2,
      tokenIds: Int32Array.of(0, 0, 7, 8, 9, 0),
      logprobs: Float32Array.of(-99999, -99999, -0.5, -1, -0.25, -99999),
    }),
  },
  { requiredKeys: ['sequences'], noNullPrototype: true },
)

describe('protobuf', () => {
  it('has the bytes of the official SDK', () => {
    expect(hex(encodeForwardBackwardRequest(request))).toBe(golden.request)
    const output: ForwardBackwardOutput = {
      type: 'X:ArrayRecord',
      outputs: [{ logprobs: floats(-0.5, -1) }, { logprobs: floats(-2) }],
      metrics: { 'loss:sum': 1.5 },
    }
    expect(hex(encodeForwardBackwardOutput(output, 't'))).toBe(golden.output)
    const sample: SampleResponse = {
      sequences: [
        {
          tokens: Int32Array.of(11, 12, 13),
          logprobs: Float32Array.of(-0.3, -0.3, -0.3),
          stopReason: 'length',
        },
      ],
      promptLogprobs: Float32Array.of(Number.NaN, -0.1),
    }
    expect(hex(encodeSampleResponse(sample))).toBe(golden.sample)
  })

  it('reads what the official SDK writes', () => {
    expect(decodeForwardBackwardRequest(Buffer.from(golden.request, 'hex'))).toEqual(request)
    expect(decodeForwardBackwardOutput(Buffer.from(golden.output, 'hex'))).toEqual({
      type: 'ArrayRecord',
      outputs: [
        { logprobs: { ...floats(-0.5, -1), shape: [2] } },
        { logprobs: { ...floats(-2), shape: [1] } },
      ],
      metrics: { 'loss:sum': 1.5 },
    })
    expect(decodeSampleResponse(Buffer.from(golden.sample, 'hex'))).toEqual({
      sequences: [
        {
          tokens: Int32Array.of(11, 12, 13),
          logprobs: Float32Array.of(-0.3, -0.3, -0.3),
          stopReason: 'length',
        },
      ],
      promptLogprobs: Float32Array.of(Number.NaN, -0.1),
    })
  })

  it('reads back what it wrote, in protobuf and in JSON', () => {
    fc.assert(
      fc.property(arbRequest, arbOutput, arbSample, (asked, output, sample) => {
        expect(decodeForwardBackwardRequest(encodeForwardBackwardRequest(asked))).toEqual(asked)
        expect(decodeForwardBackwardOutput(encodeForwardBackwardOutput(output))).toEqual(output)
        expect(decodeSampleResponse(encodeSampleResponse(sample))).toEqual(sample)
        const overJson = <T>(value: T) => JSON.parse(JSON.stringify(value)) as T
        expect(trainResultOfJson(trainResultJson.parse(overJson(trainResultToJson(output))))).toEqual(output)
        expect(sampleResultOfJson(sampleResultJson.parse(overJson(sampleResultToJson(sample))))).toEqual(
          sample,
        )
        const body = overJson(trainRequestToJson({ ...asked, forwardOnly: false }))
        const parsed = requests.forward_backward.parse(body)
        expect(trainDataOfJson(parsed.forward_backward_input)).toEqual(asked.data)
      }),
    )
  })

  it('passes over fields of newer servers', () => {
    const more = Buffer.concat([
      Buffer.from(golden.sample, 'hex'),
      Buffer.from('fa0603616263' + '2005', 'hex'),
    ])
    expect(decodeSampleResponse(more).sequences).toHaveLength(1)
  })

  it('reads bfloat16 and int32 values', () => {
    const column = (type: number, data: string) => {
      const bytes = encodeForwardBackwardOutput({ type: '', outputs: [{ x: floats(1) }], metrics: {} }, '')
      const [before, after] = hex(bytes).split('0000803f')
      const typed = after!.replace('18011801', `180${type}1801`)
      return Buffer.from(`${before}${data}${typed}`, 'hex')
    }
    expect(decodeForwardBackwardOutput(column(4, '803f00c0')).outputs[0]!.x!.data).toEqual(
      Float32Array.of(1, -2),
    )
    expect(decodeForwardBackwardOutput(column(3, '07000000')).outputs[0]!.x!.data).toEqual(Int32Array.of(7))
  })

  it('says that a message was cut off, at whatever byte, or reads a shorter whole one', () => {
    const whole = Buffer.from(golden.sample, 'hex')
    for (let length = 1; length < whole.length; length++) {
      try {
        const { promptLogprobs } = decodeSampleResponse(whole.subarray(0, length))
        expect(promptLogprobs).toBeUndefined()
        expect(length).toBe(32)
      } catch (error) {
        expect(error).toBeInstanceOf(WireError)
      }
    }
  })

  it('refuses bytes of any kind with WireError alone', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        for (const decode of [
          decodeForwardBackwardRequest,
          decodeForwardBackwardOutput,
          decodeSampleResponse,
        ]) {
          try {
            decode(bytes)
          } catch (error) {
            expect(error).toBeInstanceOf(WireError)
          }
        }
      }),
    )
  })
})
