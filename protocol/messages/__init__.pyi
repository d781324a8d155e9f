# Generated from the message definitions by `python -m tools.docs`.
from typing import Any, Generic, Literal, TypeVar, overload
from uuid import UUID

from oncelog.protocol.api_keys import ApiKey, is_flexible as is_flexible
from oncelog.protocol.messages.classes import MessageBase as MessageBase
from oncelog.protocol.messages.codec import (
    encode_data as encode_data,
    encode_request as encode_request,
    encode_response as encode_response,
    is_flexible_definition as is_flexible_definition,
    knows as knows,
    valid_versions as valid_versions,
)
from oncelog.protocol.primitives import Buffer, MalformedRequest as MalformedRequest

Answer = TypeVar("Answer", covariant=True)

class Request(MessageBase, Generic[Answer]):
    """What is answered with an `Answer`: known to type checkers alone."""

@overload
def decode_request(api_key: Literal[ApiKey.PRODUCE], api_version: int, body: Buffer) -> ProduceRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.FETCH], api_version: int, body: Buffer) -> FetchRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.LIST_OFFSETS], api_version: int, body: Buffer) -> ListOffsetsRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.METADATA], api_version: int, body: Buffer) -> MetadataRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.OFFSET_COMMIT], api_version: int, body: Buffer) -> OffsetCommitRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.OFFSET_FETCH], api_version: int, body: Buffer) -> OffsetFetchRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.FIND_COORDINATOR], api_version: int, body: Buffer) -> FindCoordinatorRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.JOIN_GROUP], api_version: int, body: Buffer) -> JoinGroupRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.HEARTBEAT], api_version: int, body: Buffer) -> HeartbeatRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.LEAVE_GROUP], api_version: int, body: Buffer) -> LeaveGroupRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.SYNC_GROUP], api_version: int, body: Buffer) -> SyncGroupRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.DESCRIBE_GROUPS], api_version: int, body: Buffer) -> DescribeGroupsRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.LIST_GROUPS], api_version: int, body: Buffer) -> ListGroupsRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.SASL_HANDSHAKE], api_version: int, body: Buffer) -> SaslHandshakeRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.API_VERSIONS], api_version: int, body: Buffer) -> ApiVersionsRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.CREATE_TOPICS], api_version: int, body: Buffer) -> CreateTopicsRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.DELETE_TOPICS], api_version: int, body: Buffer) -> DeleteTopicsRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.DELETE_RECORDS], api_version: int, body: Buffer) -> DeleteRecordsRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.INIT_PRODUCER_ID], api_version: int, body: Buffer) -> InitProducerIdRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.OFFSET_FOR_LEADER_EPOCH], api_version: int, body: Buffer) -> OffsetForLeaderEpochRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.ADD_PARTITIONS_TO_TXN], api_version: int, body: Buffer) -> AddPartitionsToTxnRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.ADD_OFFSETS_TO_TXN], api_version: int, body: Buffer) -> AddOffsetsToTxnRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.END_TXN], api_version: int, body: Buffer) -> EndTxnRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.WRITE_TXN_MARKERS], api_version: int, body: Buffer) -> WriteTxnMarkersRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.TXN_OFFSET_COMMIT], api_version: int, body: Buffer) -> TxnOffsetCommitRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.DESCRIBE_ACLS], api_version: int, body: Buffer) -> DescribeAclsRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.CREATE_ACLS], api_version: int, body: Buffer) -> CreateAclsRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.DELETE_ACLS], api_version: int, body: Buffer) -> DeleteAclsRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.DESCRIBE_CONFIGS], api_version: int, body: Buffer) -> DescribeConfigsRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.ALTER_CONFIGS], api_version: int, body: Buffer) -> AlterConfigsRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.ALTER_REPLICA_LOG_DIRS], api_version: int, body: Buffer) -> AlterReplicaLogDirsRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.DESCRIBE_LOG_DIRS], api_version: int, body: Buffer) -> DescribeLogDirsRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.SASL_AUTHENTICATE], api_version: int, body: Buffer) -> SaslAuthenticateRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.CREATE_PARTITIONS], api_version: int, body: Buffer) -> CreatePartitionsRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.CREATE_DELEGATION_TOKEN], api_version: int, body: Buffer) -> CreateDelegationTokenRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.RENEW_DELEGATION_TOKEN], api_version: int, body: Buffer) -> RenewDelegationTokenRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.EXPIRE_DELEGATION_TOKEN], api_version: int, body: Buffer) -> ExpireDelegationTokenRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.DESCRIBE_DELEGATION_TOKEN], api_version: int, body: Buffer) -> DescribeDelegationTokenRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.DELETE_GROUPS], api_version: int, body: Buffer) -> DeleteGroupsRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.ELECT_LEADERS], api_version: int, body: Buffer) -> ElectLeadersRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.INCREMENTAL_ALTER_CONFIGS], api_version: int, body: Buffer) -> IncrementalAlterConfigsRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.ALTER_PARTITION_REASSIGNMENTS], api_version: int, body: Buffer) -> AlterPartitionReassignmentsRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.LIST_PARTITION_REASSIGNMENTS], api_version: int, body: Buffer) -> ListPartitionReassignmentsRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.OFFSET_DELETE], api_version: int, body: Buffer) -> OffsetDeleteRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.DESCRIBE_CLIENT_QUOTAS], api_version: int, body: Buffer) -> DescribeClientQuotasRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.ALTER_CLIENT_QUOTAS], api_version: int, body: Buffer) -> AlterClientQuotasRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS], api_version: int, body: Buffer) -> DescribeUserScramCredentialsRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.ALTER_USER_SCRAM_CREDENTIALS], api_version: int, body: Buffer) -> AlterUserScramCredentialsRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.DESCRIBE_QUORUM], api_version: int, body: Buffer) -> DescribeQuorumRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.UPDATE_FEATURES], api_version: int, body: Buffer) -> UpdateFeaturesRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.DESCRIBE_CLUSTER], api_version: int, body: Buffer) -> DescribeClusterRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.DESCRIBE_PRODUCERS], api_version: int, body: Buffer) -> DescribeProducersRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.UNREGISTER_BROKER], api_version: int, body: Buffer) -> UnregisterBrokerRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.DESCRIBE_TRANSACTIONS], api_version: int, body: Buffer) -> DescribeTransactionsRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.LIST_TRANSACTIONS], api_version: int, body: Buffer) -> ListTransactionsRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.CONSUMER_GROUP_HEARTBEAT], api_version: int, body: Buffer) -> ConsumerGroupHeartbeatRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.CONSUMER_GROUP_DESCRIBE], api_version: int, body: Buffer) -> ConsumerGroupDescribeRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.GET_TELEMETRY_SUBSCRIPTIONS], api_version: int, body: Buffer) -> GetTelemetrySubscriptionsRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.PUSH_TELEMETRY], api_version: int, body: Buffer) -> PushTelemetryRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.LIST_CONFIG_RESOURCES], api_version: int, body: Buffer) -> ListConfigResourcesRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.DESCRIBE_TOPIC_PARTITIONS], api_version: int, body: Buffer) -> DescribeTopicPartitionsRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.SHARE_GROUP_HEARTBEAT], api_version: int, body: Buffer) -> ShareGroupHeartbeatRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.SHARE_GROUP_DESCRIBE], api_version: int, body: Buffer) -> ShareGroupDescribeRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.SHARE_FETCH], api_version: int, body: Buffer) -> ShareFetchRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.SHARE_ACKNOWLEDGE], api_version: int, body: Buffer) -> ShareAcknowledgeRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.ADD_RAFT_VOTER], api_version: int, body: Buffer) -> AddRaftVoterRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.REMOVE_RAFT_VOTER], api_version: int, body: Buffer) -> RemoveRaftVoterRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.INITIALIZE_SHARE_GROUP_STATE], api_version: int, body: Buffer) -> InitializeShareGroupStateRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.READ_SHARE_GROUP_STATE], api_version: int, body: Buffer) -> ReadShareGroupStateRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.WRITE_SHARE_GROUP_STATE], api_version: int, body: Buffer) -> WriteShareGroupStateRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.DELETE_SHARE_GROUP_STATE], api_version: int, body: Buffer) -> DeleteShareGroupStateRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.READ_SHARE_GROUP_STATE_SUMMARY], api_version: int, body: Buffer) -> ReadShareGroupStateSummaryRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.STREAMS_GROUP_HEARTBEAT], api_version: int, body: Buffer) -> StreamsGroupHeartbeatRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.STREAMS_GROUP_DESCRIBE], api_version: int, body: Buffer) -> StreamsGroupDescribeRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS], api_version: int, body: Buffer) -> DescribeShareGroupOffsetsRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.ALTER_SHARE_GROUP_OFFSETS], api_version: int, body: Buffer) -> AlterShareGroupOffsetsRequest: ...
@overload
def decode_request(api_key: Literal[ApiKey.DELETE_SHARE_GROUP_OFFSETS], api_version: int, body: Buffer) -> DeleteShareGroupOffsetsRequest: ...
@overload
def decode_request(api_key: int, api_version: int, body: Buffer) -> Any: ...
@overload
def decode_response(api_key: Literal[ApiKey.PRODUCE], api_version: int, body: Buffer) -> ProduceResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.FETCH], api_version: int, body: Buffer) -> FetchResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.LIST_OFFSETS], api_version: int, body: Buffer) -> ListOffsetsResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.METADATA], api_version: int, body: Buffer) -> MetadataResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.OFFSET_COMMIT], api_version: int, body: Buffer) -> OffsetCommitResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.OFFSET_FETCH], api_version: int, body: Buffer) -> OffsetFetchResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.FIND_COORDINATOR], api_version: int, body: Buffer) -> FindCoordinatorResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.JOIN_GROUP], api_version: int, body: Buffer) -> JoinGroupResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.HEARTBEAT], api_version: int, body: Buffer) -> HeartbeatResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.LEAVE_GROUP], api_version: int, body: Buffer) -> LeaveGroupResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.SYNC_GROUP], api_version: int, body: Buffer) -> SyncGroupResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.DESCRIBE_GROUPS], api_version: int, body: Buffer) -> DescribeGroupsResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.LIST_GROUPS], api_version: int, body: Buffer) -> ListGroupsResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.SASL_HANDSHAKE], api_version: int, body: Buffer) -> SaslHandshakeResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.API_VERSIONS], api_version: int, body: Buffer) -> ApiVersionsResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.CREATE_TOPICS], api_version: int, body: Buffer) -> CreateTopicsResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.DELETE_TOPICS], api_version: int, body: Buffer) -> DeleteTopicsResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.DELETE_RECORDS], api_version: int, body: Buffer) -> DeleteRecordsResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.INIT_PRODUCER_ID], api_version: int, body: Buffer) -> InitProducerIdResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.OFFSET_FOR_LEADER_EPOCH], api_version: int, body: Buffer) -> OffsetForLeaderEpochResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.ADD_PARTITIONS_TO_TXN], api_version: int, body: Buffer) -> AddPartitionsToTxnResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.ADD_OFFSETS_TO_TXN], api_version: int, body: Buffer) -> AddOffsetsToTxnResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.END_TXN], api_version: int, body: Buffer) -> EndTxnResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.WRITE_TXN_MARKERS], api_version: int, body: Buffer) -> WriteTxnMarkersResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.TXN_OFFSET_COMMIT], api_version: int, body: Buffer) -> TxnOffsetCommitResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.DESCRIBE_ACLS], api_version: int, body: Buffer) -> DescribeAclsResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.CREATE_ACLS], api_version: int, body: Buffer) -> CreateAclsResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.DELETE_ACLS], api_version: int, body: Buffer) -> DeleteAclsResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.DESCRIBE_CONFIGS], api_version: int, body: Buffer) -> DescribeConfigsResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.ALTER_CONFIGS], api_version: int, body: Buffer) -> AlterConfigsResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.ALTER_REPLICA_LOG_DIRS], api_version: int, body: Buffer) -> AlterReplicaLogDirsResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.DESCRIBE_LOG_DIRS], api_version: int, body: Buffer) -> DescribeLogDirsResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.SASL_AUTHENTICATE], api_version: int, body: Buffer) -> SaslAuthenticateResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.CREATE_PARTITIONS], api_version: int, body: Buffer) -> CreatePartitionsResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.CREATE_DELEGATION_TOKEN], api_version: int, body: Buffer) -> CreateDelegationTokenResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.RENEW_DELEGATION_TOKEN], api_version: int, body: Buffer) -> RenewDelegationTokenResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.EXPIRE_DELEGATION_TOKEN], api_version: int, body: Buffer) -> ExpireDelegationTokenResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.DESCRIBE_DELEGATION_TOKEN], api_version: int, body: Buffer) -> DescribeDelegationTokenResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.DELETE_GROUPS], api_version: int, body: Buffer) -> DeleteGroupsResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.ELECT_LEADERS], api_version: int, body: Buffer) -> ElectLeadersResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.INCREMENTAL_ALTER_CONFIGS], api_version: int, body: Buffer) -> IncrementalAlterConfigsResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.ALTER_PARTITION_REASSIGNMENTS], api_version: int, body: Buffer) -> AlterPartitionReassignmentsResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.LIST_PARTITION_REASSIGNMENTS], api_version: int, body: Buffer) -> ListPartitionReassignmentsResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.OFFSET_DELETE], api_version: int, body: Buffer) -> OffsetDeleteResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.DESCRIBE_CLIENT_QUOTAS], api_version: int, body: Buffer) -> DescribeClientQuotasResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.ALTER_CLIENT_QUOTAS], api_version: int, body: Buffer) -> AlterClientQuotasResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS], api_version: int, body: Buffer) -> DescribeUserScramCredentialsResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.ALTER_USER_SCRAM_CREDENTIALS], api_version: int, body: Buffer) -> AlterUserScramCredentialsResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.DESCRIBE_QUORUM], api_version: int, body: Buffer) -> DescribeQuorumResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.UPDATE_FEATURES], api_version: int, body: Buffer) -> UpdateFeaturesResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.DESCRIBE_CLUSTER], api_version: int, body: Buffer) -> DescribeClusterResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.DESCRIBE_PRODUCERS], api_version: int, body: Buffer) -> DescribeProducersResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.UNREGISTER_BROKER], api_version: int, body: Buffer) -> UnregisterBrokerResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.DESCRIBE_TRANSACTIONS], api_version: int, body: Buffer) -> DescribeTransactionsResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.LIST_TRANSACTIONS], api_version: int, body: Buffer) -> ListTransactionsResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.CONSUMER_GROUP_HEARTBEAT], api_version: int, body: Buffer) -> ConsumerGroupHeartbeatResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.CONSUMER_GROUP_DESCRIBE], api_version: int, body: Buffer) -> ConsumerGroupDescribeResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.GET_TELEMETRY_SUBSCRIPTIONS], api_version: int, body: Buffer) -> GetTelemetrySubscriptionsResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.PUSH_TELEMETRY], api_version: int, body: Buffer) -> PushTelemetryResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.LIST_CONFIG_RESOURCES], api_version: int, body: Buffer) -> ListConfigResourcesResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.DESCRIBE_TOPIC_PARTITIONS], api_version: int, body: Buffer) -> DescribeTopicPartitionsResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.SHARE_GROUP_HEARTBEAT], api_version: int, body: Buffer) -> ShareGroupHeartbeatResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.SHARE_GROUP_DESCRIBE], api_version: int, body: Buffer) -> ShareGroupDescribeResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.SHARE_FETCH], api_version: int, body: Buffer) -> ShareFetchResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.SHARE_ACKNOWLEDGE], api_version: int, body: Buffer) -> ShareAcknowledgeResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.ADD_RAFT_VOTER], api_version: int, body: Buffer) -> AddRaftVoterResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.REMOVE_RAFT_VOTER], api_version: int, body: Buffer) -> RemoveRaftVoterResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.INITIALIZE_SHARE_GROUP_STATE], api_version: int, body: Buffer) -> InitializeShareGroupStateResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.READ_SHARE_GROUP_STATE], api_version: int, body: Buffer) -> ReadShareGroupStateResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.WRITE_SHARE_GROUP_STATE], api_version: int, body: Buffer) -> WriteShareGroupStateResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.DELETE_SHARE_GROUP_STATE], api_version: int, body: Buffer) -> DeleteShareGroupStateResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.READ_SHARE_GROUP_STATE_SUMMARY], api_version: int, body: Buffer) -> ReadShareGroupStateSummaryResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.STREAMS_GROUP_HEARTBEAT], api_version: int, body: Buffer) -> StreamsGroupHeartbeatResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.STREAMS_GROUP_DESCRIBE], api_version: int, body: Buffer) -> StreamsGroupDescribeResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS], api_version: int, body: Buffer) -> DescribeShareGroupOffsetsResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.ALTER_SHARE_GROUP_OFFSETS], api_version: int, body: Buffer) -> AlterShareGroupOffsetsResponse: ...
@overload
def decode_response(api_key: Literal[ApiKey.DELETE_SHARE_GROUP_OFFSETS], api_version: int, body: Buffer) -> DeleteShareGroupOffsetsResponse: ...
@overload
def decode_response(api_key: int, api_version: int, body: Buffer) -> Any: ...
@overload
def decode_data(name: Literal["ConsumerProtocolAssignment"], data: Buffer) -> ConsumerProtocolAssignment: ...
@overload
def decode_data(name: Literal["ConsumerProtocolSubscription"], data: Buffer) -> ConsumerProtocolSubscription: ...

class ProduceRequest(Request[ProduceResponse]):
    class TopicProduceData(MessageBase):
        class PartitionProduceData(MessageBase):
            index: int
            records: Buffer | None
            def __init__(self, index: int = ..., records: Buffer | None = ...) -> None: ...
        name: str
        topic_id: UUID | None
        partition_data: list[ProduceRequest.TopicProduceData.PartitionProduceData]
        def __init__(self, name: str = ..., topic_id: UUID | None = ..., partition_data: list[ProduceRequest.TopicProduceData.PartitionProduceData] = ...) -> None: ...
    transactional_id: str | None
    acks: int
    timeout_ms: int
    topic_data: list[ProduceRequest.TopicProduceData]
    def __init__(self, transactional_id: str | None = ..., acks: int = ..., timeout_ms: int = ..., topic_data: list[ProduceRequest.TopicProduceData] = ...) -> None: ...
class ProduceResponse(MessageBase):
    class TopicProduceResponse(MessageBase):
        class PartitionProduceResponse(MessageBase):
            class BatchIndexAndErrorMessage(MessageBase):
                batch_index: int
                batch_index_error_message: str | None
                def __init__(self, batch_index: int = ..., batch_index_error_message: str | None = ...) -> None: ...
            class LeaderIdAndEpoch(MessageBase):
                leader_id: int
                leader_epoch: int
                def __init__(self, leader_id: int = ..., leader_epoch: int = ...) -> None: ...
            index: int
            error_code: int
            base_offset: int
            log_append_time_ms: int
            log_start_offset: int
            record_errors: list[ProduceResponse.TopicProduceResponse.PartitionProduceResponse.BatchIndexAndErrorMessage]
            error_message: str | None
            current_leader: ProduceResponse.TopicProduceResponse.PartitionProduceResponse.LeaderIdAndEpoch | None
            def __init__(self, index: int = ..., error_code: int = ..., base_offset: int = ..., log_append_time_ms: int = ..., log_start_offset: int = ..., record_errors: list[ProduceResponse.TopicProduceResponse.PartitionProduceResponse.BatchIndexAndErrorMessage] = ..., error_message: str | None = ..., current_leader: ProduceResponse.TopicProduceResponse.PartitionProduceResponse.LeaderIdAndEpoch | None = ...) -> None: ...
        name: str
        topic_id: UUID | None
        partition_responses: list[ProduceResponse.TopicProduceResponse.PartitionProduceResponse]
        def __init__(self, name: str = ..., topic_id: UUID | None = ..., partition_responses: list[ProduceResponse.TopicProduceResponse.PartitionProduceResponse] = ...) -> None: ...
    class NodeEndpoint(MessageBase):
        node_id: int
        host: str
        port: int
        rack: str | None
        def __init__(self, node_id: int = ..., host: str = ..., port: int = ..., rack: str | None = ...) -> None: ...
    responses: list[ProduceResponse.TopicProduceResponse]
    throttle_time_ms: int
    node_endpoints: list[ProduceResponse.NodeEndpoint]
    def __init__(self, responses: list[ProduceResponse.TopicProduceResponse] = ..., throttle_time_ms: int = ..., node_endpoints: list[ProduceResponse.NodeEndpoint] = ...) -> None: ...
class FetchRequest(Request[FetchResponse]):
    class ReplicaState(MessageBase):
        replica_id: int
        replica_epoch: int
        def __init__(self, replica_id: int = ..., replica_epoch: int = ...) -> None: ...
    class FetchTopic(MessageBase):
        class FetchPartition(MessageBase):
            partition: int
            current_leader_epoch: int
            fetch_offset: int
            last_fetched_epoch: int
            log_start_offset: int
            partition_max_bytes: int
            replica_directory_id: UUID | None
            high_watermark: int
            def __init__(self, partition: int = ..., current_leader_epoch: int = ..., fetch_offset: int = ..., last_fetched_epoch: int = ..., log_start_offset: int = ..., partition_max_bytes: int = ..., replica_directory_id: UUID | None = ..., high_watermark: int = ...) -> None: ...
        topic: str
        topic_id: UUID | None
        partitions: list[FetchRequest.FetchTopic.FetchPartition]
        def __init__(self, topic: str = ..., topic_id: UUID | None = ..., partitions: list[FetchRequest.FetchTopic.FetchPartition] = ...) -> None: ...
    class ForgottenTopic(MessageBase):
        topic: str
        topic_id: UUID | None
        partitions: list[int]
        def __init__(self, topic: str = ..., topic_id: UUID | None = ..., partitions: list[int] = ...) -> None: ...
    cluster_id: str | None
    replica_id: int
    replica_state: FetchRequest.ReplicaState | None
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    isolation_level: int
    session_id: int
    session_epoch: int
    topics: list[FetchRequest.FetchTopic]
    forgotten_topics_data: list[FetchRequest.ForgottenTopic]
    rack_id: str
    def __init__(self, cluster_id: str | None = ..., replica_id: int = ..., replica_state: FetchRequest.ReplicaState | None = ..., max_wait_ms: int = ..., min_bytes: int = ..., max_bytes: int = ..., isolation_level: int = ..., session_id: int = ..., session_epoch: int = ..., topics: list[FetchRequest.FetchTopic] = ..., forgotten_topics_data: list[FetchRequest.ForgottenTopic] = ..., rack_id: str = ...) -> None: ...
class FetchResponse(MessageBase):
    class FetchableTopicResponse(MessageBase):
        class PartitionData(MessageBase):
            class EpochEndOffset(MessageBase):
                epoch: int
                end_offset: int
                def __init__(self, epoch: int = ..., end_offset: int = ...) -> None: ...
            class LeaderIdAndEpoch(MessageBase):
                leader_id: int
                leader_epoch: int
                def __init__(self, leader_id: int = ..., leader_epoch: int = ...) -> None: ...
            class SnapshotId(MessageBase):
                end_offset: int
                epoch: int
                def __init__(self, end_offset: int = ..., epoch: int = ...) -> None: ...
            class AbortedTransaction(MessageBase):
                producer_id: int
                first_offset: int
                def __init__(self, producer_id: int = ..., first_offset: int = ...) -> None: ...
            partition_index: int
            error_code: int
            high_watermark: int
            last_stable_offset: int
            log_start_offset: int
            diverging_epoch: FetchResponse.FetchableTopicResponse.PartitionData.EpochEndOffset | None
            current_leader: FetchResponse.FetchableTopicResponse.PartitionData.LeaderIdAndEpoch | None
            snapshot_id: FetchResponse.FetchableTopicResponse.PartitionData.SnapshotId | None
            aborted_transactions: list[FetchResponse.FetchableTopicResponse.PartitionData.AbortedTransaction] | None
            preferred_read_replica: int
            records: Buffer | None
            def __init__(self, partition_index: int = ..., error_code: int = ..., high_watermark: int = ..., last_stable_offset: int = ..., log_start_offset: int = ..., diverging_epoch: FetchResponse.FetchableTopicResponse.PartitionData.EpochEndOffset | None = ..., current_leader: FetchResponse.FetchableTopicResponse.PartitionData.LeaderIdAndEpoch | None = ..., snapshot_id: FetchResponse.FetchableTopicResponse.PartitionData.SnapshotId | None = ..., aborted_transactions: list[FetchResponse.FetchableTopicResponse.PartitionData.AbortedTransaction] | None = ..., preferred_read_replica: int = ..., records: Buffer | None = ...) -> None: ...
        topic: str
        topic_id: UUID | None
        partitions: list[FetchResponse.FetchableTopicResponse.PartitionData]
        def __init__(self, topic: str = ..., topic_id: UUID | None = ..., partitions: list[FetchResponse.FetchableTopicResponse.PartitionData] = ...) -> None: ...
    class NodeEndpoint(MessageBase):
        node_id: int
        host: str
        port: int
        rack: str | None
        def __init__(self, node_id: int = ..., host: str = ..., port: int = ..., rack: str | None = ...) -> None: ...
    throttle_time_ms: int
    error_code: int
    session_id: int
    responses: list[FetchResponse.FetchableTopicResponse]
    node_endpoints: list[FetchResponse.NodeEndpoint]
    def __init__(self, throttle_time_ms: int = ..., error_code: int = ..., session_id: int = ..., responses: list[FetchResponse.FetchableTopicResponse] = ..., node_endpoints: list[FetchResponse.NodeEndpoint] = ...) -> None: ...
class ListOffsetsRequest(Request[ListOffsetsResponse]):
    class ListOffsetsTopic(MessageBase):
        class ListOffsetsPartition(MessageBase):
            partition_index: int
            current_leader_epoch: int
            timestamp: int
            max_num_offsets: int
            def __init__(self, partition_index: int = ..., current_leader_epoch: int = ..., timestamp: int = ..., max_num_offsets: int = ...) -> None: ...
        name: str
        partitions: list[ListOffsetsRequest.ListOffsetsTopic.ListOffsetsPartition]
        def __init__(self, name: str = ..., partitions: list[ListOffsetsRequest.ListOffsetsTopic.ListOffsetsPartition] = ...) -> None: ...
    replica_id: int
    isolation_level: int
    topics: list[ListOffsetsRequest.ListOffsetsTopic]
    timeout_ms: int
    def __init__(self, replica_id: int = ..., isolation_level: int = ..., topics: list[ListOffsetsRequest.ListOffsetsTopic] = ..., timeout_ms: int = ...) -> None: ...
class ListOffsetsResponse(MessageBase):
    class ListOffsetsTopicResponse(MessageBase):
        class ListOffsetsPartitionResponse(MessageBase):
            partition_index: int
            error_code: int
            old_style_offsets: list[int]
            timestamp: int
            offset: int
            leader_epoch: int
            def __init__(self, partition_index: int = ..., error_code: int = ..., old_style_offsets: list[int] = ..., timestamp: int = ..., offset: int = ..., leader_epoch: int = ...) -> None: ...
        name: str
        partitions: list[ListOffsetsResponse.ListOffsetsTopicResponse.ListOffsetsPartitionResponse]
        def __init__(self, name: str = ..., partitions: list[ListOffsetsResponse.ListOffsetsTopicResponse.ListOffsetsPartitionResponse] = ...) -> None: ...
    throttle_time_ms: int
    topics: list[ListOffsetsResponse.ListOffsetsTopicResponse]
    def __init__(self, throttle_time_ms: int = ..., topics: list[ListOffsetsResponse.ListOffsetsTopicResponse] = ...) -> None: ...
class MetadataRequest(Request[MetadataResponse]):
    class MetadataRequestTopic(MessageBase):
        topic_id: UUID | None
        name: str | None
        def __init__(self, topic_id: UUID | None = ..., name: str | None = ...) -> None: ...
    topics: list[MetadataRequest.MetadataRequestTopic] | None
    allow_auto_topic_creation: bool
    include_cluster_authorized_operations: bool
    include_topic_authorized_operations: bool
    def __init__(self, topics: list[MetadataRequest.MetadataRequestTopic] | None = ..., allow_auto_topic_creation: bool = ..., include_cluster_authorized_operations: bool = ..., include_topic_authorized_operations: bool = ...) -> None: ...
class MetadataResponse(MessageBase):
    class MetadataResponseBroker(MessageBase):
        node_id: int
        host: str
        port: int
        rack: str | None
        def __init__(self, node_id: int = ..., host: str = ..., port: int = ..., rack: str | None = ...) -> None: ...
    class MetadataResponseTopic(MessageBase):
        class MetadataResponsePartition(MessageBase):
            error_code: int
            partition_index: int
            leader_id: int
            leader_epoch: int
            replica_nodes: list[int]
            isr_nodes: list[int]
            offline_replicas: list[int]
            def __init__(self, error_code: int = ..., partition_index: int = ..., leader_id: int = ..., leader_epoch: int = ..., replica_nodes: list[int] = ..., isr_nodes: list[int] = ..., offline_replicas: list[int] = ...) -> None: ...
        error_code: int
        name: str | None
        topic_id: UUID | None
        is_internal: bool
        partitions: list[MetadataResponse.MetadataResponseTopic.MetadataResponsePartition]
        topic_authorized_operations: int
        def __init__(self, error_code: int = ..., name: str | None = ..., topic_id: UUID | None = ..., is_internal: bool = ..., partitions: list[MetadataResponse.MetadataResponseTopic.MetadataResponsePartition] = ..., topic_authorized_operations: int = ...) -> None: ...
    throttle_time_ms: int
    brokers: list[MetadataResponse.MetadataResponseBroker]
    cluster_id: str | None
    controller_id: int
    topics: list[MetadataResponse.MetadataResponseTopic]
    cluster_authorized_operations: int
    error_code: int
    def __init__(self, throttle_time_ms: int = ..., brokers: list[MetadataResponse.MetadataResponseBroker] = ..., cluster_id: str | None = ..., controller_id: int = ..., topics: list[MetadataResponse.MetadataResponseTopic] = ..., cluster_authorized_operations: int = ..., error_code: int = ...) -> None: ...
class OffsetCommitRequest(Request[OffsetCommitResponse]):
    class OffsetCommitRequestTopic(MessageBase):
        class OffsetCommitRequestPartition(MessageBase):
            partition_index: int
            committed_offset: int
            committed_leader_epoch: int
            commit_timestamp: int
            committed_metadata: str | None
            def __init__(self, partition_index: int = ..., committed_offset: int = ..., committed_leader_epoch: int = ..., commit_timestamp: int = ..., committed_metadata: str | None = ...) -> None: ...
        name: str
        topic_id: UUID | None
        partitions: list[OffsetCommitRequest.OffsetCommitRequestTopic.OffsetCommitRequestPartition]
        def __init__(self, name: str = ..., topic_id: UUID | None = ..., partitions: list[OffsetCommitRequest.OffsetCommitRequestTopic.OffsetCommitRequestPartition] = ...) -> None: ...
    group_id: str
    generation_id_or_member_epoch: int
    member_id: str
    group_instance_id: str | None
    retention_time_ms: int
    topics: list[OffsetCommitRequest.OffsetCommitRequestTopic]
    def __init__(self, group_id: str = ..., generation_id_or_member_epoch: int = ..., member_id: str = ..., group_instance_id: str | None = ..., retention_time_ms: int = ..., topics: list[OffsetCommitRequest.OffsetCommitRequestTopic] = ...) -> None: ...
class OffsetCommitResponse(MessageBase):
    class OffsetCommitResponseTopic(MessageBase):
        class OffsetCommitResponsePartition(MessageBase):
            partition_index: int
            error_code: int
            def __init__(self, partition_index: int = ..., error_code: int = ...) -> None: ...
        name: str
        topic_id: UUID | None
        partitions: list[OffsetCommitResponse.OffsetCommitResponseTopic.OffsetCommitResponsePartition]
        def __init__(self, name: str = ..., topic_id: UUID | None = ..., partitions: list[OffsetCommitResponse.OffsetCommitResponseTopic.OffsetCommitResponsePartition] = ...) -> None: ...
    throttle_time_ms: int
    topics: list[OffsetCommitResponse.OffsetCommitResponseTopic]
    def __init__(self, throttle_time_ms: int = ..., topics: list[OffsetCommitResponse.OffsetCommitResponseTopic] = ...) -> None: ...
class OffsetFetchRequest(Request[OffsetFetchResponse]):
    class OffsetFetchRequestTopic(MessageBase):
        name: str
        partition_indexes: list[int]
        def __init__(self, name: str = ..., partition_indexes: list[int] = ...) -> None: ...
    class OffsetFetchRequestGroup(MessageBase):
        class OffsetFetchRequestTopics(MessageBase):
            name: str
            topic_id: UUID | None
            partition_indexes: list[int]
            def __init__(self, name: str = ..., topic_id: UUID | None = ..., partition_indexes: list[int] = ...) -> None: ...
        group_id: str
        member_id: str | None
        member_epoch: int
        topics: list[OffsetFetchRequest.OffsetFetchRequestGroup.OffsetFetchRequestTopics] | None
        def __init__(self, group_id: str = ..., member_id: str | None = ..., member_epoch: int = ..., topics: list[OffsetFetchRequest.OffsetFetchRequestGroup.OffsetFetchRequestTopics] | None = ...) -> None: ...
    group_id: str
    topics: list[OffsetFetchRequest.OffsetFetchRequestTopic] | None
    groups: list[OffsetFetchRequest.OffsetFetchRequestGroup]
    require_stable: bool
    def __init__(self, group_id: str = ..., topics: list[OffsetFetchRequest.OffsetFetchRequestTopic] | None = ..., groups: list[OffsetFetchRequest.OffsetFetchRequestGroup] = ..., require_stable: bool = ...) -> None: ...
class OffsetFetchResponse(MessageBase):
    class OffsetFetchResponseTopic(MessageBase):
        class OffsetFetchResponsePartition(MessageBase):
            partition_index: int
            committed_offset: int
            committed_leader_epoch: int
            metadata: str | None
            error_code: int
            def __init__(self, partition_index: int = ..., committed_offset: int = ..., committed_leader_epoch: int = ..., metadata: str | None = ..., error_code: int = ...) -> None: ...
        name: str
        partitions: list[OffsetFetchResponse.OffsetFetchResponseTopic.OffsetFetchResponsePartition]
        def __init__(self, name: str = ..., partitions: list[OffsetFetchResponse.OffsetFetchResponseTopic.OffsetFetchResponsePartition] = ...) -> None: ...
    class OffsetFetchResponseGroup(MessageBase):
        class OffsetFetchResponseTopics(MessageBase):
            class OffsetFetchResponsePartitions(MessageBase):
                partition_index: int
                committed_offset: int
                committed_leader_epoch: int
                metadata: str | None
                error_code: int
                def __init__(self, partition_index: int = ..., committed_offset: int = ..., committed_leader_epoch: int = ..., metadata: str | None = ..., error_code: int = ...) -> None: ...
            name: str
            topic_id: UUID | None
            partitions: list[OffsetFetchResponse.OffsetFetchResponseGroup.OffsetFetchResponseTopics.OffsetFetchResponsePartitions]
            def __init__(self, name: str = ..., topic_id: UUID | None = ..., partitions: list[OffsetFetchResponse.OffsetFetchResponseGroup.OffsetFetchResponseTopics.OffsetFetchResponsePartitions] = ...) -> None: ...
        group_id: str
        topics: list[OffsetFetchResponse.OffsetFetchResponseGroup.OffsetFetchResponseTopics]
        error_code: int
        def __init__(self, group_id: str = ..., topics: list[OffsetFetchResponse.OffsetFetchResponseGroup.OffsetFetchResponseTopics] = ..., error_code: int = ...) -> None: ...
    throttle_time_ms: int
    topics: list[OffsetFetchResponse.OffsetFetchResponseTopic]
    error_code: int
    groups: list[OffsetFetchResponse.OffsetFetchResponseGroup]
    def __init__(self, throttle_time_ms: int = ..., topics: list[OffsetFetchResponse.OffsetFetchResponseTopic] = ..., error_code: int = ..., groups: list[OffsetFetchResponse.OffsetFetchResponseGroup] = ...) -> None: ...
class FindCoordinatorRequest(Request[FindCoordinatorResponse]):
    key: str
    key_type: int
    coordinator_keys: list[str]
    def __init__(self, key: str = ..., key_type: int = ..., coordinator_keys: list[str] = ...) -> None: ...
class FindCoordinatorResponse(MessageBase):
    class Coordinator(MessageBase):
        key: str
        node_id: int
        host: str
        port: int
        error_code: int
        error_message: str | None
        def __init__(self, key: str = ..., node_id: int = ..., host: str = ..., port: int = ..., error_code: int = ..., error_message: str | None = ...) -> None: ...
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    node_id: int
    host: str
    port: int
    coordinators: list[FindCoordinatorResponse.Coordinator]
    def __init__(self, throttle_time_ms: int = ..., error_code: int = ..., error_message: str | None = ..., node_id: int = ..., host: str = ..., port: int = ..., coordinators: list[FindCoordinatorResponse.Coordinator] = ...) -> None: ...
class JoinGroupRequest(Request[JoinGroupResponse]):
    class JoinGroupRequestProtocol(MessageBase):
        name: str
        metadata: bytes
        def __init__(self, name: str = ..., metadata: bytes = ...) -> None: ...
    group_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    member_id: str
    group_instance_id: str | None
    protocol_type: str
    protocols: list[JoinGroupRequest.JoinGroupRequestProtocol]
    reason: str | None
    def __init__(self, group_id: str = ..., session_timeout_ms: int = ..., rebalance_timeout_ms: int = ..., member_id: str = ..., group_instance_id: str | None = ..., protocol_type: str = ..., protocols: list[JoinGroupRequest.JoinGroupRequestProtocol] = ..., reason: str | None = ...) -> None: ...
class JoinGroupResponse(MessageBase):
    class JoinGroupResponseMember(MessageBase):
        member_id: str
        group_instance_id: str | None
        metadata: bytes
        def __init__(self, member_id: str = ..., group_instance_id: str | None = ..., metadata: bytes = ...) -> None: ...
    throttle_time_ms: int
    error_code: int
    generation_id: int
    protocol_type: str | None
    protocol_name: str | None
    leader: str
    skip_assignment: bool
    member_id: str
    members: list[JoinGroupResponse.JoinGroupResponseMember]
    def __init__(self, throttle_time_ms: int = ..., error_code: int = ..., generation_id: int = ..., protocol_type: str | None = ..., protocol_name: str | None = ..., leader: str = ..., skip_assignment: bool = ..., member_id: str = ..., members: list[JoinGroupResponse.JoinGroupResponseMember] = ...) -> None: ...
class HeartbeatRequest(Request[HeartbeatResponse]):
    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None
    def __init__(self, group_id: str = ..., generation_id: int = ..., member_id: str = ..., group_instance_id: str | None = ...) -> None: ...
class HeartbeatResponse(MessageBase):
    throttle_time_ms: int
    error_code: int
    def __init__(self, throttle_time_ms: int = ..., error_code: int = ...) -> None: ...
class LeaveGroupRequest(Request[LeaveGroupResponse]):
    class MemberIdentity(MessageBase):
        member_id: str
        group_instance_id: str | None
        reason: str | None
        def __init__(self, member_id: str = ..., group_instance_id: str | None = ..., reason: str | None = ...) -> None: ...
    group_id: str
    member_id: str
    members: list[LeaveGroupRequest.MemberIdentity]
    def __init__(self, group_id: str = ..., member_id: str = ..., members: list[LeaveGroupRequest.MemberIdentity] = ...) -> None: ...
class LeaveGroupResponse(MessageBase):
    class MemberResponse(MessageBase):
        member_id: str
        group_instance_id: str | None
        error_code: int
        def __init__(self, member_id: str = ..., group_instance_id: str | None = ..., error_code: int = ...) -> None: ...
    throttle_time_ms: int
    error_code: int
    members: list[LeaveGroupResponse.MemberResponse]
    def __init__(self, throttle_time_ms: int = ..., error_code: int = ..., members: list[LeaveGroupResponse.MemberResponse] = ...) -> None: ...
class SyncGroupRequest(Request[SyncGroupResponse]):
    class SyncGroupRequestAssignment(MessageBase):
        member_id: str
        assignment: bytes
        def __init__(self, member_id: str = ..., assignment: bytes = ...) -> None: ...
    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None
    protocol_type: str | None
    protocol_name: str | None
    assignments: list[SyncGroupRequest.SyncGroupRequestAssignment]
    def __init__(self, group_id: str = ..., generation_id: int = ..., member_id: str = ..., group_instance_id: str | None = ..., protocol_type: str | None = ..., protocol_name: str | None = ..., assignments: list[SyncGroupRequest.SyncGroupRequestAssignment] = ...) -> None: ...
class SyncGroupResponse(MessageBase):
    throttle_time_ms: int
    error_code: int
    protocol_type: str | None
    protocol_name: str | None
    assignment: bytes
    def __init__(self, throttle_time_ms: int = ..., error_code: int = ..., protocol_type: str | None = ..., protocol_name: str | None = ..., assignment: bytes = ...) -> None: ...
class DescribeGroupsRequest(Request[DescribeGroupsResponse]):
    groups: list[str]
    include_authorized_operations: bool
    def __init__(self, groups: list[str] = ..., include_authorized_operations: bool = ...) -> None: ...
class DescribeGroupsResponse(MessageBase):
    class DescribedGroup(MessageBase):
        class DescribedGroupMember(MessageBase):
            member_id: str
            group_instance_id: str | None
            client_id: str
            client_host: str
            member_metadata: bytes
            member_assignment: bytes
            def __init__(self, member_id: str = ..., group_instance_id: str | None = ..., client_id: str = ..., client_host: str = ..., member_metadata: bytes = ..., member_assignment: bytes = ...) -> None: ...
        error_code: int
        error_message: str | None
        group_id: str
        group_state: str
        protocol_type: str
        protocol_data: str
        members: list[DescribeGroupsResponse.DescribedGroup.DescribedGroupMember]
        authorized_operations: int
        def __init__(self, error_code: int = ..., error_message: str | None = ..., group_id: str = ..., group_state: str = ..., protocol_type: str = ..., protocol_data: str = ..., members: list[DescribeGroupsResponse.DescribedGroup.DescribedGroupMember] = ..., authorized_operations: int = ...) -> None: ...
    throttle_time_ms: int
    groups: list[DescribeGroupsResponse.DescribedGroup]
    def __init__(self, throttle_time_ms: int = ..., groups: list[DescribeGroupsResponse.DescribedGroup] = ...) -> None: ...
class ListGroupsRequest(Request[ListGroupsResponse]):
    states_filter: list[str]
    types_filter: list[str]
    def __init__(self, states_filter: list[str] = ..., types_filter: list[str] = ...) -> None: ...
class ListGroupsResponse(MessageBase):
    class ListedGroup(MessageBase):
        group_id: str
        protocol_type: str
        group_state: str
        group_type: str
        def __init__(self, group_id: str = ..., protocol_type: str = ..., group_state: str = ..., group_type: str = ...) -> None: ...
    throttle_time_ms: int
    error_code: int
    groups: list[ListGroupsResponse.ListedGroup]
    def __init__(self, throttle_time_ms: int = ..., error_code: int = ..., groups: list[ListGroupsResponse.ListedGroup] = ...) -> None: ...
class SaslHandshakeRequest(Request[SaslHandshakeResponse]):
    mechanism: str
    def __init__(self, mechanism: str = ...) -> None: ...
class SaslHandshakeResponse(MessageBase):
    error_code: int
    mechanisms: list[str]
    def __init__(self, error_code: int = ..., mechanisms: list[str] = ...) -> None: ...
class ApiVersionsRequest(Request[ApiVersionsResponse]):
    client_software_name: str
    client_software_version: str
    def __init__(self, client_software_name: str = ..., client_software_version: str = ...) -> None: ...
class ApiVersionsResponse(MessageBase):
    class ApiVersion(MessageBase):
        api_key: int
        min_version: int
        max_version: int
        def __init__(self, api_key: int = ..., min_version: int = ..., max_version: int = ...) -> None: ...
    class SupportedFeatureKey(MessageBase):
        name: str
        min_version: int
        max_version: int
        def __init__(self, name: str = ..., min_version: int = ..., max_version: int = ...) -> None: ...
    class FinalizedFeatureKey(MessageBase):
        name: str
        max_version_level: int
        min_version_level: int
        def __init__(self, name: str = ..., max_version_level: int = ..., min_version_level: int = ...) -> None: ...
    error_code: int
    api_keys: list[ApiVersionsResponse.ApiVersion]
    throttle_time_ms: int
    supported_features: list[ApiVersionsResponse.SupportedFeatureKey]
    finalized_features_epoch: int
    finalized_features: list[ApiVersionsResponse.FinalizedFeatureKey]
    zk_migration_ready: bool
    def __init__(self, error_code: int = ..., api_keys: list[ApiVersionsResponse.ApiVersion] = ..., throttle_time_ms: int = ..., supported_features: list[ApiVersionsResponse.SupportedFeatureKey] = ..., finalized_features_epoch: int = ..., finalized_features: list[ApiVersionsResponse.FinalizedFeatureKey] = ..., zk_migration_ready: bool = ...) -> None: ...
class CreateTopicsRequest(Request[CreateTopicsResponse]):
    class CreatableTopic(MessageBase):
        class CreatableReplicaAssignment(MessageBase):
            partition_index: int
            broker_ids: list[int]
            def __init__(self, partition_index: int = ..., broker_ids: list[int] = ...) -> None: ...
        class CreatableTopicConfig(MessageBase):
            name: str
            value: str | None
            def __init__(self, name: str = ..., value: str | None = ...) -> None: ...
        name: str
        num_partitions: int
        replication_factor: int
        assignments: list[CreateTopicsRequest.CreatableTopic.CreatableReplicaAssignment]
        configs: list[CreateTopicsRequest.CreatableTopic.CreatableTopicConfig]
        def __init__(self, name: str = ..., num_partitions: int = ..., replication_factor: int = ..., assignments: list[CreateTopicsRequest.CreatableTopic.CreatableReplicaAssignment] = ..., configs: list[CreateTopicsRequest.CreatableTopic.CreatableTopicConfig] = ...) -> None: ...
    topics: list[CreateTopicsRequest.CreatableTopic]
    timeout_ms: int
    validate_only: bool
    def __init__(self, topics: list[CreateTopicsRequest.CreatableTopic] = ..., timeout_ms: int = ..., validate_only: bool = ...) -> None: ...
class CreateTopicsResponse(MessageBase):
    class CreatableTopicResult(MessageBase):
        class CreatableTopicConfigs(MessageBase):
            name: str
            value: str | None
            read_only: bool
            config_source: int
            is_sensitive: bool
            def __init__(self, name: str = ..., value: str | None = ..., read_only: bool = ..., config_source: int = ..., is_sensitive: bool = ...) -> None: ...
        name: str
        topic_id: UUID | None
        error_code: int
        error_message: str | None
        topic_config_error_code: int
        num_partitions: int
        replication_factor: int
        configs: list[CreateTopicsResponse.CreatableTopicResult.CreatableTopicConfigs] | None
        def __init__(self, name: str = ..., topic_id: UUID | None = ..., error_code: int = ..., error_message: str | None = ..., topic_config_error_code: int = ..., num_partitions: int = ..., replication_factor: int = ..., configs: list[CreateTopicsResponse.CreatableTopicResult.CreatableTopicConfigs] | None = ...) -> None: ...
    throttle_time_ms: int
    topics: list[CreateTopicsResponse.CreatableTopicResult]
    def __init__(self, throttle_time_ms: int = ..., topics: list[CreateTopicsResponse.CreatableTopicResult] = ...) -> None: ...
class DeleteTopicsRequest(Request[DeleteTopicsResponse]):
    class DeleteTopicState(MessageBase):
        name: str | None
        topic_id: UUID | None
        def __init__(self, name: str | None = ..., topic_id: UUID | None = ...) -> None: ...
    topics: list[DeleteTopicsRequest.DeleteTopicState]
    topic_names: list[str]
    timeout_ms: int
    def __init__(self, topics: list[DeleteTopicsRequest.DeleteTopicState] = ..., topic_names: list[str] = ..., timeout_ms: int = ...) -> None: ...
class DeleteTopicsResponse(MessageBase):
    class DeletableTopicResult(MessageBase):
        name: str | None
        topic_id: UUID | None
        error_code: int
        error_message: str | None
        def __init__(self, name: str | None = ..., topic_id: UUID | None = ..., error_code: int = ..., error_message: str | None = ...) -> None: ...
    throttle_time_ms: int
    responses: list[DeleteTopicsResponse.DeletableTopicResult]
    def __init__(self, throttle_time_ms: int = ..., responses: list[DeleteTopicsResponse.DeletableTopicResult] = ...) -> None: ...
class DeleteRecordsRequest(Request[DeleteRecordsResponse]):
    class DeleteRecordsTopic(MessageBase):
        class DeleteRecordsPartition(MessageBase):
            partition_index: int
            offset: int
            def __init__(self, partition_index: int = ..., offset: int = ...) -> None: ...
        name: str
        partitions: list[DeleteRecordsRequest.DeleteRecordsTopic.DeleteRecordsPartition]
        def __init__(self, name: str = ..., partitions: list[DeleteRecordsRequest.DeleteRecordsTopic.DeleteRecordsPartition] = ...) -> None: ...
    topics: list[DeleteRecordsRequest.DeleteRecordsTopic]
    timeout_ms: int
    def __init__(self, topics: list[DeleteRecordsRequest.DeleteRecordsTopic] = ..., timeout_ms: int = ...) -> None: ...
class DeleteRecordsResponse(MessageBase):
    class DeleteRecordsTopicResult(MessageBase):
        class DeleteRecordsPartitionResult(MessageBase):
            partition_index: int
            low_watermark: int
            error_code: int
            def __init__(self, partition_index: int = ..., low_watermark: int = ..., error_code: int = ...) -> None: ...
        name: str
        partitions: list[DeleteRecordsResponse.DeleteRecordsTopicResult.DeleteRecordsPartitionResult]
        def __init__(self, name: str = ..., partitions: list[DeleteRecordsResponse.DeleteRecordsTopicResult.DeleteRecordsPartitionResult] = ...) -> None: ...
    throttle_time_ms: int
    topics: list[DeleteRecordsResponse.DeleteRecordsTopicResult]
    def __init__(self, throttle_time_ms: int = ..., topics: list[DeleteRecordsResponse.DeleteRecordsTopicResult] = ...) -> None: ...
class InitProducerIdRequest(Request[InitProducerIdResponse]):
    transactional_id: str | None
    transaction_timeout_ms: int
    producer_id: int
    producer_epoch: int
    enable2_pc: bool
    keep_prepared_txn: bool
    def __init__(self, transactional_id: str | None = ..., transaction_timeout_ms: int = ..., producer_id: int = ..., producer_epoch: int = ..., enable2_pc: bool = ..., keep_prepared_txn: bool = ...) -> None: ...
class InitProducerIdResponse(MessageBase):
    throttle_time_ms: int
    error_code: int
    producer_id: int
    producer_epoch: int
    ongoing_txn_producer_id: int
    ongoing_txn_producer_epoch: int
    def __init__(self, throttle_time_ms: int = ..., error_code: int = ..., producer_id: int = ..., producer_epoch: int = ..., ongoing_txn_producer_id: int = ..., ongoing_txn_producer_epoch: int = ...) -> None: ...
class OffsetForLeaderEpochRequest(Request[OffsetForLeaderEpochResponse]):
    class OffsetForLeaderTopic(MessageBase):
        class OffsetForLeaderPartition(MessageBase):
            partition: int
            current_leader_epoch: int
            leader_epoch: int
            def __init__(self, partition: int = ..., current_leader_epoch: int = ..., leader_epoch: int = ...) -> None: ...
        topic: str
        partitions: list[OffsetForLeaderEpochRequest.OffsetForLeaderTopic.OffsetForLeaderPartition]
        def __init__(self, topic: str = ..., partitions: list[OffsetForLeaderEpochRequest.OffsetForLeaderTopic.OffsetForLeaderPartition] = ...) -> None: ...
    replica_id: int
    topics: list[OffsetForLeaderEpochRequest.OffsetForLeaderTopic]
    def __init__(self, replica_id: int = ..., topics: list[OffsetForLeaderEpochRequest.OffsetForLeaderTopic] = ...) -> None: ...
class OffsetForLeaderEpochResponse(MessageBase):
    class OffsetForLeaderTopicResult(MessageBase):
        class EpochEndOffset(MessageBase):
            error_code: int
            partition: int
            leader_epoch: int
            end_offset: int
            def __init__(self, error_code: int = ..., partition: int = ..., leader_epoch: int = ..., end_offset: int = ...) -> None: ...
        topic: str
        partitions: list[OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult.EpochEndOffset]
        def __init__(self, topic: str = ..., partitions: list[OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult.EpochEndOffset] = ...) -> None: ...
    throttle_time_ms: int
    topics: list[OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult]
    def __init__(self, throttle_time_ms: int = ..., topics: list[OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult] = ...) -> None: ...
class AddPartitionsToTxnRequest(Request[AddPartitionsToTxnResponse]):
    class AddPartitionsToTxnTransaction(MessageBase):
        class AddPartitionsToTxnTopic(MessageBase):
            name: str
            partitions: list[int]
            def __init__(self, name: str = ..., partitions: list[int] = ...) -> None: ...
        transactional_id: str
        producer_id: int
        producer_epoch: int
        verify_only: bool
        topics: list[AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction.AddPartitionsToTxnTopic]
        def __init__(self, transactional_id: str = ..., producer_id: int = ..., producer_epoch: int = ..., verify_only: bool = ..., topics: list[AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction.AddPartitionsToTxnTopic] = ...) -> None: ...
    class AddPartitionsToTxnTopic(MessageBase):
        name: str
        partitions: list[int]
        def __init__(self, name: str = ..., partitions: list[int] = ...) -> None: ...
    transactions: list[AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction]
    v3_and_below_transactional_id: str
    v3_and_below_producer_id: int
    v3_and_below_producer_epoch: int
    v3_and_below_topics: list[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic]
    def __init__(self, transactions: list[AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction] = ..., v3_and_below_transactional_id: str = ..., v3_and_below_producer_id: int = ..., v3_and_below_producer_epoch: int = ..., v3_and_below_topics: list[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic] = ...) -> None: ...
class AddPartitionsToTxnResponse(MessageBase):
    class AddPartitionsToTxnResult(MessageBase):
        class AddPartitionsToTxnTopicResult(MessageBase):
            class AddPartitionsToTxnPartitionResult(MessageBase):
                partition_index: int
                partition_error_code: int
                def __init__(self, partition_index: int = ..., partition_error_code: int = ...) -> None: ...
            name: str
            results_by_partition: list[AddPartitionsToTxnResponse.AddPartitionsToTxnResult.AddPartitionsToTxnTopicResult.AddPartitionsToTxnPartitionResult]
            def __init__(self, name: str = ..., results_by_partition: list[AddPartitionsToTxnResponse.AddPartitionsToTxnResult.AddPartitionsToTxnTopicResult.AddPartitionsToTxnPartitionResult] = ...) -> None: ...
        transactional_id: str
        topic_results: list[AddPartitionsToTxnResponse.AddPartitionsToTxnResult.AddPartitionsToTxnTopicResult]
        def __init__(self, transactional_id: str = ..., topic_results: list[AddPartitionsToTxnResponse.AddPartitionsToTxnResult.AddPartitionsToTxnTopicResult] = ...) -> None: ...
    class AddPartitionsToTxnTopicResult(MessageBase):
        class AddPartitionsToTxnPartitionResult(MessageBase):
            partition_index: int
            partition_error_code: int
            def __init__(self, partition_index: int = ..., partition_error_code: int = ...) -> None: ...
        name: str
        results_by_partition: list[AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult.AddPartitionsToTxnPartitionResult]
        def __init__(self, name: str = ..., results_by_partition: list[AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult.AddPartitionsToTxnPartitionResult] = ...) -> None: ...
    throttle_time_ms: int
    error_code: int
    results_by_transaction: list[AddPartitionsToTxnResponse.AddPartitionsToTxnResult]
    results_by_topic_v3_and_below: list[AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult]
    def __init__(self, throttle_time_ms: int = ..., error_code: int = ..., results_by_transaction: list[AddPartitionsToTxnResponse.AddPartitionsToTxnResult] = ..., results_by_topic_v3_and_below: list[AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult] = ...) -> None: ...
class AddOffsetsToTxnRequest(Request[AddOffsetsToTxnResponse]):
    transactional_id: str
    producer_id: int
    producer_epoch: int
    group_id: str
    def __init__(self, transactional_id: str = ..., producer_id: int = ..., producer_epoch: int = ..., group_id: str = ...) -> None: ...
class AddOffsetsToTxnResponse(MessageBase):
    throttle_time_ms: int
    error_code: int
    def __init__(self, throttle_time_ms: int = ..., error_code: int = ...) -> None: ...
class EndTxnRequest(Request[EndTxnResponse]):
    transactional_id: str
    producer_id: int
    producer_epoch: int
    committed: bool
    def __init__(self, transactional_id: str = ..., producer_id: int = ..., producer_epoch: int = ..., committed: bool = ...) -> None: ...
class EndTxnResponse(MessageBase):
    throttle_time_ms: int
    error_code: int
    producer_id: int
    producer_epoch: int
    def __init__(self, throttle_time_ms: int = ..., error_code: int = ..., producer_id: int = ..., producer_epoch: int = ...) -> None: ...
class WriteTxnMarkersRequest(Request[WriteTxnMarkersResponse]):
    class WritableTxnMarker(MessageBase):
        class WritableTxnMarkerTopic(MessageBase):
            name: str
            partition_indexes: list[int]
            def __init__(self, name: str = ..., partition_indexes: list[int] = ...) -> None: ...
        producer_id: int
        producer_epoch: int
        transaction_result: bool
        topics: list[WriteTxnMarkersRequest.WritableTxnMarker.WritableTxnMarkerTopic]
        coordinator_epoch: int
        transaction_version: int
        def __init__(self, producer_id: int = ..., producer_epoch: int = ..., transaction_result: bool = ..., topics: list[WriteTxnMarkersRequest.WritableTxnMarker.WritableTxnMarkerTopic] = ..., coordinator_epoch: int = ..., transaction_version: int = ...) -> None: ...
    markers: list[WriteTxnMarkersRequest.WritableTxnMarker]
    def __init__(self, markers: list[WriteTxnMarkersRequest.WritableTxnMarker] = ...) -> None: ...
class WriteTxnMarkersResponse(MessageBase):
    class WritableTxnMarkerResult(MessageBase):
        class WritableTxnMarkerTopicResult(MessageBase):
            class WritableTxnMarkerPartitionResult(MessageBase):
                partition_index: int
                error_code: int
                def __init__(self, partition_index: int = ..., error_code: int = ...) -> None: ...
            name: str
            partitions: list[WriteTxnMarkersResponse.WritableTxnMarkerResult.WritableTxnMarkerTopicResult.WritableTxnMarkerPartitionResult]
            def __init__(self, name: str = ..., partitions: list[WriteTxnMarkersResponse.WritableTxnMarkerResult.WritableTxnMarkerTopicResult.WritableTxnMarkerPartitionResult] = ...) -> None: ...
        producer_id: int
        topics: list[WriteTxnMarkersResponse.WritableTxnMarkerResult.WritableTxnMarkerTopicResult]
        def __init__(self, producer_id: int = ..., topics: list[WriteTxnMarkersResponse.WritableTxnMarkerResult.WritableTxnMarkerTopicResult] = ...) -> None: ...
    markers: list[WriteTxnMarkersResponse.WritableTxnMarkerResult]
    def __init__(self, markers: list[WriteTxnMarkersResponse.WritableTxnMarkerResult] = ...) -> None: ...
class TxnOffsetCommitRequest(Request[TxnOffsetCommitResponse]):
    class TxnOffsetCommitRequestTopic(MessageBase):
        class TxnOffsetCommitRequestPartition(MessageBase):
            partition_index: int
            committed_offset: int
            committed_leader_epoch: int
            committed_metadata: str | None
            def __init__(self, partition_index: int = ..., committed_offset: int = ..., committed_leader_epoch: int = ..., committed_metadata: str | None = ...) -> None: ...
        name: str
        partitions: list[TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic.TxnOffsetCommitRequestPartition]
        def __init__(self, name: str = ..., partitions: list[TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic.TxnOffsetCommitRequestPartition] = ...) -> None: ...
    transactional_id: str
    group_id: str
    producer_id: int
    producer_epoch: int
    generation_id: int
    member_id: str
    group_instance_id: str | None
    topics: list[TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic]
    def __init__(self, transactional_id: str = ..., group_id: str = ..., producer_id: int = ..., producer_epoch: int = ..., generation_id: int = ..., member_id: str = ..., group_instance_id: str | None = ..., topics: list[TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic] = ...) -> None: ...
class TxnOffsetCommitResponse(MessageBase):
    class TxnOffsetCommitResponseTopic(MessageBase):
        class TxnOffsetCommitResponsePartition(MessageBase):
            partition_index: int
            error_code: int
            def __init__(self, partition_index: int = ..., error_code: int = ...) -> None: ...
        name: str
        partitions: list[TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic.TxnOffsetCommitResponsePartition]
        def __init__(self, name: str = ..., partitions: list[TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic.TxnOffsetCommitResponsePartition] = ...) -> None: ...
    throttle_time_ms: int
    topics: list[TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic]
    def __init__(self, throttle_time_ms: int = ..., topics: list[TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic] = ...) -> None: ...
class DescribeAclsRequest(Request[DescribeAclsResponse]):
    resource_type_filter: int
    resource_name_filter: str | None
    pattern_type_filter: int
    principal_filter: str | None
    host_filter: str | None
    operation: int
    permission_type: int
    def __init__(self, resource_type_filter: int = ..., resource_name_filter: str | None = ..., pattern_type_filter: int = ..., principal_filter: str | None = ..., host_filter: str | None = ..., operation: int = ..., permission_type: int = ...) -> None: ...
class DescribeAclsResponse(MessageBase):
    class DescribeAclsResource(MessageBase):
        class AclDescription(MessageBase):
            principal: str
            host: str
            operation: int
            permission_type: int
            def __init__(self, principal: str = ..., host: str = ..., operation: int = ..., permission_type: int = ...) -> None: ...
        resource_type: int
        resource_name: str
        pattern_type: int
        acls: list[DescribeAclsResponse.DescribeAclsResource.AclDescription]
        def __init__(self, resource_type: int = ..., resource_name: str = ..., pattern_type: int = ..., acls: list[DescribeAclsResponse.DescribeAclsResource.AclDescription] = ...) -> None: ...
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    resources: list[DescribeAclsResponse.DescribeAclsResource]
    def __init__(self, throttle_time_ms: int = ..., error_code: int = ..., error_message: str | None = ..., resources: list[DescribeAclsResponse.DescribeAclsResource] = ...) -> None: ...
class CreateAclsRequest(Request[CreateAclsResponse]):
    class AclCreation(MessageBase):
        resource_type: int
        resource_name: str
        resource_pattern_type: int
        principal: str
        host: str
        operation: int
        permission_type: int
        def __init__(self, resource_type: int = ..., resource_name: str = ..., resource_pattern_type: int = ..., principal: str = ..., host: str = ..., operation: int = ..., permission_type: int = ...) -> None: ...
    creations: list[CreateAclsRequest.AclCreation]
    def __init__(self, creations: list[CreateAclsRequest.AclCreation] = ...) -> None: ...
class CreateAclsResponse(MessageBase):
    class AclCreationResult(MessageBase):
        error_code: int
        error_message: str | None
        def __init__(self, error_code: int = ..., error_message: str | None = ...) -> None: ...
    throttle_time_ms: int
    results: list[CreateAclsResponse.AclCreationResult]
    def __init__(self, throttle_time_ms: int = ..., results: list[CreateAclsResponse.AclCreationResult] = ...) -> None: ...
class DeleteAclsRequest(Request[DeleteAclsResponse]):
    class DeleteAclsFilter(MessageBase):
        resource_type_filter: int
        resource_name_filter: str | None
        pattern_type_filter: int
        principal_filter: str | None
        host_filter: str | None
        operation: int
        permission_type: int
        def __init__(self, resource_type_filter: int = ..., resource_name_filter: str | None = ..., pattern_type_filter: int = ..., principal_filter: str | None = ..., host_filter: str | None = ..., operation: int = ..., permission_type: int = ...) -> None: ...
    filters: list[DeleteAclsRequest.DeleteAclsFilter]
    def __init__(self, filters: list[DeleteAclsRequest.DeleteAclsFilter] = ...) -> None: ...
class DeleteAclsResponse(MessageBase):
    class DeleteAclsFilterResult(MessageBase):
        class DeleteAclsMatchingAcl(MessageBase):
            error_code: int
            error_message: str | None
            resource_type: int
            resource_name: str
            pattern_type: int
            principal: str
            host: str
            operation: int
            permission_type: int
            def __init__(self, error_code: int = ..., error_message: str | None = ..., resource_type: int = ..., resource_name: str = ..., pattern_type: int = ..., principal: str = ..., host: str = ..., operation: int = ..., permission_type: int = ...) -> None: ...
        error_code: int
        error_message: str | None
        matching_acls: list[DeleteAclsResponse.DeleteAclsFilterResult.DeleteAclsMatchingAcl]
        def __init__(self, error_code: int = ..., error_message: str | None = ..., matching_acls: list[DeleteAclsResponse.DeleteAclsFilterResult.DeleteAclsMatchingAcl] = ...) -> None: ...
    throttle_time_ms: int
    filter_results: list[DeleteAclsResponse.DeleteAclsFilterResult]
    def __init__(self, throttle_time_ms: int = ..., filter_results: list[DeleteAclsResponse.DeleteAclsFilterResult] = ...) -> None: ...
class DescribeConfigsRequest(Request[DescribeConfigsResponse]):
    class DescribeConfigsResource(MessageBase):
        resource_type: int
        resource_name: str
        configuration_keys: list[str] | None
        def __init__(self, resource_type: int = ..., resource_name: str = ..., configuration_keys: list[str] | None = ...) -> None: ...
    resources: list[DescribeConfigsRequest.DescribeConfigsResource]
    include_synonyms: bool
    include_documentation: bool
    def __init__(self, resources: list[DescribeConfigsRequest.DescribeConfigsResource] = ..., include_synonyms: bool = ..., include_documentation: bool = ...) -> None: ...
class DescribeConfigsResponse(MessageBase):
    class DescribeConfigsResult(MessageBase):
        class DescribeConfigsResourceResult(MessageBase):
            class DescribeConfigsSynonym(MessageBase):
                name: str
                value: str | None
                source: int
                def __init__(self, name: str = ..., value: str | None = ..., source: int = ...) -> None: ...
            name: str
            value: str | None
            read_only: bool
            config_source: int
            is_default: bool
            is_sensitive: bool
            synonyms: list[DescribeConfigsResponse.DescribeConfigsResult.DescribeConfigsResourceResult.DescribeConfigsSynonym]
            config_type: int
            documentation: str | None
            def __init__(self, name: str = ..., value: str | None = ..., read_only: bool = ..., config_source: int = ..., is_default: bool = ..., is_sensitive: bool = ..., synonyms: list[DescribeConfigsResponse.DescribeConfigsResult.DescribeConfigsResourceResult.DescribeConfigsSynonym] = ..., config_type: int = ..., documentation: str | None = ...) -> None: ...
        error_code: int
        error_message: str | None
        resource_type: int
        resource_name: str
        configs: list[DescribeConfigsResponse.DescribeConfigsResult.DescribeConfigsResourceResult]
        def __init__(self, error_code: int = ..., error_message: str | None = ..., resource_type: int = ..., resource_name: str = ..., configs: list[DescribeConfigsResponse.DescribeConfigsResult.DescribeConfigsResourceResult] = ...) -> None: ...
    throttle_time_ms: int
    results: list[DescribeConfigsResponse.DescribeConfigsResult]
    def __init__(self, throttle_time_ms: int = ..., results: list[DescribeConfigsResponse.DescribeConfigsResult] = ...) -> None: ...
class AlterConfigsRequest(Request[AlterConfigsResponse]):
    class AlterConfigsResource(MessageBase):
        class AlterableConfig(MessageBase):
            name: str
            value: str | None
            def __init__(self, name: str = ..., value: str | None = ...) -> None: ...
        resource_type: int
        resource_name: str
        configs: list[AlterConfigsRequest.AlterConfigsResource.AlterableConfig]
        def __init__(self, resource_type: int = ..., resource_name: str = ..., configs: list[AlterConfigsRequest.AlterConfigsResource.AlterableConfig] = ...) -> None: ...
    resources: list[AlterConfigsRequest.AlterConfigsResource]
    validate_only: bool
    def __init__(self, resources: list[AlterConfigsRequest.AlterConfigsResource] = ..., validate_only: bool = ...) -> None: ...
class AlterConfigsResponse(MessageBase):
    class AlterConfigsResourceResponse(MessageBase):
        error_code: int
        error_message: str | None
        resource_type: int
        resource_name: str
        def __init__(self, error_code: int = ..., error_message: str | None = ..., resource_type: int = ..., resource_name: str = ...) -> None: ...
    throttle_time_ms: int
    responses: list[AlterConfigsResponse.AlterConfigsResourceResponse]
    def __init__(self, throttle_time_ms: int = ..., responses: list[AlterConfigsResponse.AlterConfigsResourceResponse] = ...) -> None: ...
class AlterReplicaLogDirsRequest(Request[AlterReplicaLogDirsResponse]):
    class AlterReplicaLogDir(MessageBase):
        class AlterReplicaLogDirTopic(MessageBase):
            name: str
            partitions: list[int]
            def __init__(self, name: str = ..., partitions: list[int] = ...) -> None: ...
        path: str
        topics: list[AlterReplicaLogDirsRequest.AlterReplicaLogDir.AlterReplicaLogDirTopic]
        def __init__(self, path: str = ..., topics: list[AlterReplicaLogDirsRequest.AlterReplicaLogDir.AlterReplicaLogDirTopic] = ...) -> None: ...
    dirs: list[AlterReplicaLogDirsRequest.AlterReplicaLogDir]
    def __init__(self, dirs: list[AlterReplicaLogDirsRequest.AlterReplicaLogDir] = ...) -> None: ...
class AlterReplicaLogDirsResponse(MessageBase):
    class AlterReplicaLogDirTopicResult(MessageBase):
        class AlterReplicaLogDirPartitionResult(MessageBase):
            partition_index: int
            error_code: int
            def __init__(self, partition_index: int = ..., error_code: int = ...) -> None: ...
        topic_name: str
        partitions: list[AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult.AlterReplicaLogDirPartitionResult]
        def __init__(self, topic_name: str = ..., partitions: list[AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult.AlterReplicaLogDirPartitionResult] = ...) -> None: ...
    throttle_time_ms: int
    results: list[AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult]
    def __init__(self, throttle_time_ms: int = ..., results: list[AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult] = ...) -> None: ...
class DescribeLogDirsRequest(Request[DescribeLogDirsResponse]):
    class DescribableLogDirTopic(MessageBase):
        topic: str
        partitions: list[int]
        def __init__(self, topic: str = ..., partitions: list[int] = ...) -> None: ...
    topics: list[DescribeLogDirsRequest.DescribableLogDirTopic] | None
    def __init__(self, topics: list[DescribeLogDirsRequest.DescribableLogDirTopic] | None = ...) -> None: ...
class DescribeLogDirsResponse(MessageBase):
    class DescribeLogDirsResult(MessageBase):
        class DescribeLogDirsTopic(MessageBase):
            class DescribeLogDirsPartition(MessageBase):
                partition_index: int
                partition_size: int
                offset_lag: int
                is_future_key: bool
                def __init__(self, partition_index: int = ..., partition_size: int = ..., offset_lag: int = ..., is_future_key: bool = ...) -> None: ...
            name: str
            partitions: list[DescribeLogDirsResponse.DescribeLogDirsResult.DescribeLogDirsTopic.DescribeLogDirsPartition]
            def __init__(self, name: str = ..., partitions: list[DescribeLogDirsResponse.DescribeLogDirsResult.DescribeLogDirsTopic.DescribeLogDirsPartition] = ...) -> None: ...
        error_code: int
        log_dir: str
        topics: list[DescribeLogDirsResponse.DescribeLogDirsResult.DescribeLogDirsTopic]
        total_bytes: int
        usable_bytes: int
        is_cordoned: bool
        def __init__(self, error_code: int = ..., log_dir: str = ..., topics: list[DescribeLogDirsResponse.DescribeLogDirsResult.DescribeLogDirsTopic] = ..., total_bytes: int = ..., usable_bytes: int = ..., is_cordoned: bool = ...) -> None: ...
    throttle_time_ms: int
    error_code: int
    results: list[DescribeLogDirsResponse.DescribeLogDirsResult]
    def __init__(self, throttle_time_ms: int = ..., error_code: int = ..., results: list[DescribeLogDirsResponse.DescribeLogDirsResult] = ...) -> None: ...
class SaslAuthenticateRequest(Request[SaslAuthenticateResponse]):
    auth_bytes: bytes
    def __init__(self, auth_bytes: bytes = ...) -> None: ...
class SaslAuthenticateResponse(MessageBase):
    error_code: int
    error_message: str | None
    auth_bytes: bytes
    session_lifetime_ms: int
    def __init__(self, error_code: int = ..., error_message: str | None = ..., auth_bytes: bytes = ..., session_lifetime_ms: int = ...) -> None: ...
class CreatePartitionsRequest(Request[CreatePartitionsResponse]):
    class CreatePartitionsTopic(MessageBase):
        class CreatePartitionsAssignment(MessageBase):
            broker_ids: list[int]
            def __init__(self, broker_ids: list[int] = ...) -> None: ...
        name: str
        count: int
        assignments: list[CreatePartitionsRequest.CreatePartitionsTopic.CreatePartitionsAssignment] | None
        def __init__(self, name: str = ..., count: int = ..., assignments: list[CreatePartitionsRequest.CreatePartitionsTopic.CreatePartitionsAssignment] | None = ...) -> None: ...
    topics: list[CreatePartitionsRequest.CreatePartitionsTopic]
    timeout_ms: int
    validate_only: bool
    def __init__(self, topics: list[CreatePartitionsRequest.CreatePartitionsTopic] = ..., timeout_ms: int = ..., validate_only: bool = ...) -> None: ...
class CreatePartitionsResponse(MessageBase):
    class CreatePartitionsTopicResult(MessageBase):
        name: str
        error_code: int
        error_message: str | None
        def __init__(self, name: str = ..., error_code: int = ..., error_message: str | None = ...) -> None: ...
    throttle_time_ms: int
    results: list[CreatePartitionsResponse.CreatePartitionsTopicResult]
    def __init__(self, throttle_time_ms: int = ..., results: list[CreatePartitionsResponse.CreatePartitionsTopicResult] = ...) -> None: ...
class CreateDelegationTokenRequest(Request[CreateDelegationTokenResponse]):
    class CreatableRenewers(MessageBase):
        principal_type: str
        principal_name: str
        def __init__(self, principal_type: str = ..., principal_name: str = ...) -> None: ...
    owner_principal_type: str | None
    owner_principal_name: str | None
    renewers: list[CreateDelegationTokenRequest.CreatableRenewers]
    max_lifetime_ms: int
    def __init__(self, owner_principal_type: str | None = ..., owner_principal_name: str | None = ..., renewers: list[CreateDelegationTokenRequest.CreatableRenewers] = ..., max_lifetime_ms: int = ...) -> None: ...
class CreateDelegationTokenResponse(MessageBase):
    error_code: int
    principal_type: str
    principal_name: str
    token_requester_principal_type: str
    token_requester_principal_name: str
    issue_timestamp_ms: int
    expiry_timestamp_ms: int
    max_timestamp_ms: int
    token_id: str
    hmac: bytes
    throttle_time_ms: int
    def __init__(self, error_code: int = ..., principal_type: str = ..., principal_name: str = ..., token_requester_principal_type: str = ..., token_requester_principal_name: str = ..., issue_timestamp_ms: int = ..., expiry_timestamp_ms: int = ..., max_timestamp_ms: int = ..., token_id: str = ..., hmac: bytes = ..., throttle_time_ms: int = ...) -> None: ...
class RenewDelegationTokenRequest(Request[RenewDelegationTokenResponse]):
    hmac: bytes
    renew_period_ms: int
    def __init__(self, hmac: bytes = ..., renew_period_ms: int = ...) -> None: ...
class RenewDelegationTokenResponse(MessageBase):
    error_code: int
    expiry_timestamp_ms: int
    throttle_time_ms: int
    def __init__(self, error_code: int = ..., expiry_timestamp_ms: int = ..., throttle_time_ms: int = ...) -> None: ...
class ExpireDelegationTokenRequest(Request[ExpireDelegationTokenResponse]):
    hmac: bytes
    expiry_time_period_ms: int
    def __init__(self, hmac: bytes = ..., expiry_time_period_ms: int = ...) -> None: ...
class ExpireDelegationTokenResponse(MessageBase):
    error_code: int
    expiry_timestamp_ms: int
    throttle_time_ms: int
    def __init__(self, error_code: int = ..., expiry_timestamp_ms: int = ..., throttle_time_ms: int = ...) -> None: ...
class DescribeDelegationTokenRequest(Request[DescribeDelegationTokenResponse]):
    class DescribeDelegationTokenOwner(MessageBase):
        principal_type: str
        principal_name: str
        def __init__(self, principal_type: str = ..., principal_name: str = ...) -> None: ...
    owners: list[DescribeDelegationTokenRequest.DescribeDelegationTokenOwner] | None
    def __init__(self, owners: list[DescribeDelegationTokenRequest.DescribeDelegationTokenOwner] | None = ...) -> None: ...
class DescribeDelegationTokenResponse(MessageBase):
    class DescribedDelegationToken(MessageBase):
        class DescribedDelegationTokenRenewer(MessageBase):
            principal_type: str
            principal_name: str
            def __init__(self, principal_type: str = ..., principal_name: str = ...) -> None: ...
        principal_type: str
        principal_name: str
        token_requester_principal_type: str
        token_requester_principal_name: str
        issue_timestamp: int
        expiry_timestamp: int
        max_timestamp: int
        token_id: str
        hmac: bytes
        renewers: list[DescribeDelegationTokenResponse.DescribedDelegationToken.DescribedDelegationTokenRenewer]
        def __init__(self, principal_type: str = ..., principal_name: str = ..., token_requester_principal_type: str = ..., token_requester_principal_name: str = ..., issue_timestamp: int = ..., expiry_timestamp: int = ..., max_timestamp: int = ..., token_id: str = ..., hmac: bytes = ..., renewers: list[DescribeDelegationTokenResponse.DescribedDelegationToken.DescribedDelegationTokenRenewer] = ...) -> None: ...
    error_code: int
    tokens: list[DescribeDelegationTokenResponse.DescribedDelegationToken]
    throttle_time_ms: int
    def __init__(self, error_code: int = ..., tokens: list[DescribeDelegationTokenResponse.DescribedDelegationToken] = ..., throttle_time_ms: int = ...) -> None: ...
class DeleteGroupsRequest(Request[DeleteGroupsResponse]):
    groups_names: list[str]
    def __init__(self, groups_names: list[str] = ...) -> None: ...
class DeleteGroupsResponse(MessageBase):
    class DeletableGroupResult(MessageBase):
        group_id: str
        error_code: int
        def __init__(self, group_id: str = ..., error_code: int = ...) -> None: ...
    throttle_time_ms: int
    results: list[DeleteGroupsResponse.DeletableGroupResult]
    def __init__(self, throttle_time_ms: int = ..., results: list[DeleteGroupsResponse.DeletableGroupResult] = ...) -> None: ...
class ElectLeadersRequest(Request[ElectLeadersResponse]):
    class TopicPartitions(MessageBase):
        topic: str
        partitions: list[int]
        def __init__(self, topic: str = ..., partitions: list[int] = ...) -> None: ...
    election_type: int
    topic_partitions: list[ElectLeadersRequest.TopicPartitions] | None
    timeout_ms: int
    def __init__(self, election_type: int = ..., topic_partitions: list[ElectLeadersRequest.TopicPartitions] | None = ..., timeout_ms: int = ...) -> None: ...
class ElectLeadersResponse(MessageBase):
    class ReplicaElectionResult(MessageBase):
        class PartitionResult(MessageBase):
            partition_id: int
            error_code: int
            error_message: str | None
            def __init__(self, partition_id: int = ..., error_code: int = ..., error_message: str | None = ...) -> None: ...
        topic: str
        partition_result: list[ElectLeadersResponse.ReplicaElectionResult.PartitionResult]
        def __init__(self, topic: str = ..., partition_result: list[ElectLeadersResponse.ReplicaElectionResult.PartitionResult] = ...) -> None: ...
    throttle_time_ms: int
    error_code: int
    replica_election_results: list[ElectLeadersResponse.ReplicaElectionResult]
    def __init__(self, throttle_time_ms: int = ..., error_code: int = ..., replica_election_results: list[ElectLeadersResponse.ReplicaElectionResult] = ...) -> None: ...
class IncrementalAlterConfigsRequest(Request[IncrementalAlterConfigsResponse]):
    class AlterConfigsResource(MessageBase):
        class AlterableConfig(MessageBase):
            name: str
            config_operation: int
            value: str | None
            def __init__(self, name: str = ..., config_operation: int = ..., value: str | None = ...) -> None: ...
        resource_type: int
        resource_name: str
        configs: list[IncrementalAlterConfigsRequest.AlterConfigsResource.AlterableConfig]
        def __init__(self, resource_type: int = ..., resource_name: str = ..., configs: list[IncrementalAlterConfigsRequest.AlterConfigsResource.AlterableConfig] = ...) -> None: ...
    resources: list[IncrementalAlterConfigsRequest.AlterConfigsResource]
    validate_only: bool
    def __init__(self, resources: list[IncrementalAlterConfigsRequest.AlterConfigsResource] = ..., validate_only: bool = ...) -> None: ...
class IncrementalAlterConfigsResponse(MessageBase):
    class AlterConfigsResourceResponse(MessageBase):
        error_code: int
        error_message: str | None
        resource_type: int
        resource_name: str
        def __init__(self, error_code: int = ..., error_message: str | None = ..., resource_type: int = ..., resource_name: str = ...) -> None: ...
    throttle_time_ms: int
    responses: list[IncrementalAlterConfigsResponse.AlterConfigsResourceResponse]
    def __init__(self, throttle_time_ms: int = ..., responses: list[IncrementalAlterConfigsResponse.AlterConfigsResourceResponse] = ...) -> None: ...
class AlterPartitionReassignmentsRequest(Request[AlterPartitionReassignmentsResponse]):
    class ReassignableTopic(MessageBase):
        class ReassignablePartition(MessageBase):
            partition_index: int
            replicas: list[int] | None
            def __init__(self, partition_index: int = ..., replicas: list[int] | None = ...) -> None: ...
        name: str
        partitions: list[AlterPartitionReassignmentsRequest.ReassignableTopic.ReassignablePartition]
        def __init__(self, name: str = ..., partitions: list[AlterPartitionReassignmentsRequest.ReassignableTopic.ReassignablePartition] = ...) -> None: ...
    timeout_ms: int
    allow_replication_factor_change: bool
    topics: list[AlterPartitionReassignmentsRequest.ReassignableTopic]
    def __init__(self, timeout_ms: int = ..., allow_replication_factor_change: bool = ..., topics: list[AlterPartitionReassignmentsRequest.ReassignableTopic] = ...) -> None: ...
class AlterPartitionReassignmentsResponse(MessageBase):
    class ReassignableTopicResponse(MessageBase):
        class ReassignablePartitionResponse(MessageBase):
            partition_index: int
            error_code: int
            error_message: str | None
            def __init__(self, partition_index: int = ..., error_code: int = ..., error_message: str | None = ...) -> None: ...
        name: str
        partitions: list[AlterPartitionReassignmentsResponse.ReassignableTopicResponse.ReassignablePartitionResponse]
        def __init__(self, name: str = ..., partitions: list[AlterPartitionReassignmentsResponse.ReassignableTopicResponse.ReassignablePartitionResponse] = ...) -> None: ...
    throttle_time_ms: int
    allow_replication_factor_change: bool
    error_code: int
    error_message: str | None
    responses: list[AlterPartitionReassignmentsResponse.ReassignableTopicResponse]
    def __init__(self, throttle_time_ms: int = ..., allow_replication_factor_change: bool = ..., error_code: int = ..., error_message: str | None = ..., responses: list[AlterPartitionReassignmentsResponse.ReassignableTopicResponse] = ...) -> None: ...
class ListPartitionReassignmentsRequest(Request[ListPartitionReassignmentsResponse]):
    class ListPartitionReassignmentsTopics(MessageBase):
        name: str
        partition_indexes: list[int]
        def __init__(self, name: str = ..., partition_indexes: list[int] = ...) -> None: ...
    timeout_ms: int
    topics: list[ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics] | None
    def __init__(self, timeout_ms: int = ..., topics: list[ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics] | None = ...) -> None: ...
class ListPartitionReassignmentsResponse(MessageBase):
    class OngoingTopicReassignment(MessageBase):
        class OngoingPartitionReassignment(MessageBase):
            partition_index: int
            replicas: list[int]
            adding_replicas: list[int]
            removing_replicas: list[int]
            def __init__(self, partition_index: int = ..., replicas: list[int] = ..., adding_replicas: list[int] = ..., removing_replicas: list[int] = ...) -> None: ...
        name: str
        partitions: list[ListPartitionReassignmentsResponse.OngoingTopicReassignment.OngoingPartitionReassignment]
        def __init__(self, name: str = ..., partitions: list[ListPartitionReassignmentsResponse.OngoingTopicReassignment.OngoingPartitionReassignment] = ...) -> None: ...
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    topics: list[ListPartitionReassignmentsResponse.OngoingTopicReassignment]
    def __init__(self, throttle_time_ms: int = ..., error_code: int = ..., error_message: str | None = ..., topics: list[ListPartitionReassignmentsResponse.OngoingTopicReassignment] = ...) -> None: ...
class OffsetDeleteRequest(Request[OffsetDeleteResponse]):
    class OffsetDeleteRequestTopic(MessageBase):
        class OffsetDeleteRequestPartition(MessageBase):
            partition_index: int
            def __init__(self, partition_index: int = ...) -> None: ...
        name: str
        partitions: list[OffsetDeleteRequest.OffsetDeleteRequestTopic.OffsetDeleteRequestPartition]
        def __init__(self, name: str = ..., partitions: list[OffsetDeleteRequest.OffsetDeleteRequestTopic.OffsetDeleteRequestPartition] = ...) -> None: ...
    group_id: str
    topics: list[OffsetDeleteRequest.OffsetDeleteRequestTopic]
    def __init__(self, group_id: str = ..., topics: list[OffsetDeleteRequest.OffsetDeleteRequestTopic] = ...) -> None: ...
class OffsetDeleteResponse(MessageBase):
    class OffsetDeleteResponseTopic(MessageBase):
        class OffsetDeleteResponsePartition(MessageBase):
            partition_index: int
            error_code: int
            def __init__(self, partition_index: int = ..., error_code: int = ...) -> None: ...
        name: str
        partitions: list[OffsetDeleteResponse.OffsetDeleteResponseTopic.OffsetDeleteResponsePartition]
        def __init__(self, name: str = ..., partitions: list[OffsetDeleteResponse.OffsetDeleteResponseTopic.OffsetDeleteResponsePartition] = ...) -> None: ...
    error_code: int
    throttle_time_ms: int
    topics: list[OffsetDeleteResponse.OffsetDeleteResponseTopic]
    def __init__(self, error_code: int = ..., throttle_time_ms: int = ..., topics: list[OffsetDeleteResponse.OffsetDeleteResponseTopic] = ...) -> None: ...
class DescribeClientQuotasRequest(Request[DescribeClientQuotasResponse]):
    class ComponentData(MessageBase):
        entity_type: str
        match_type: int
        match: str | None
        def __init__(self, entity_type: str = ..., match_type: int = ..., match: str | None = ...) -> None: ...
    components: list[DescribeClientQuotasRequest.ComponentData]
    strict: bool
    def __init__(self, components: list[DescribeClientQuotasRequest.ComponentData] = ..., strict: bool = ...) -> None: ...
class DescribeClientQuotasResponse(MessageBase):
    class EntryData(MessageBase):
        class EntityData(MessageBase):
            entity_type: str
            entity_name: str | None
            def __init__(self, entity_type: str = ..., entity_name: str | None = ...) -> None: ...
        class ValueData(MessageBase):
            key: str
            value: float
            def __init__(self, key: str = ..., value: float = ...) -> None: ...
        entity: list[DescribeClientQuotasResponse.EntryData.EntityData]
        values: list[DescribeClientQuotasResponse.EntryData.ValueData]
        def __init__(self, entity: list[DescribeClientQuotasResponse.EntryData.EntityData] = ..., values: list[DescribeClientQuotasResponse.EntryData.ValueData] = ...) -> None: ...
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    entries: list[DescribeClientQuotasResponse.EntryData] | None
    def __init__(self, throttle_time_ms: int = ..., error_code: int = ..., error_message: str | None = ..., entries: list[DescribeClientQuotasResponse.EntryData] | None = ...) -> None: ...
class AlterClientQuotasRequest(Request[AlterClientQuotasResponse]):
    class EntryData(MessageBase):
        class EntityData(MessageBase):
            entity_type: str
            entity_name: str | None
            def __init__(self, entity_type: str = ..., entity_name: str | None = ...) -> None: ...
        class OpData(MessageBase):
            key: str
            value: float
            remove: bool
            def __init__(self, key: str = ..., value: float = ..., remove: bool = ...) -> None: ...
        entity: list[AlterClientQuotasRequest.EntryData.EntityData]
        ops: list[AlterClientQuotasRequest.EntryData.OpData]
        def __init__(self, entity: list[AlterClientQuotasRequest.EntryData.EntityData] = ..., ops: list[AlterClientQuotasRequest.EntryData.OpData] = ...) -> None: ...
    entries: list[AlterClientQuotasRequest.EntryData]
    validate_only: bool
    def __init__(self, entries: list[AlterClientQuotasRequest.EntryData] = ..., validate_only: bool = ...) -> None: ...
class AlterClientQuotasResponse(MessageBase):
    class EntryData(MessageBase):
        class EntityData(MessageBase):
            entity_type: str
            entity_name: str | None
            def __init__(self, entity_type: str = ..., entity_name: str | None = ...) -> None: ...
        error_code: int
        error_message: str | None
        entity: list[AlterClientQuotasResponse.EntryData.EntityData]
        def __init__(self, error_code: int = ..., error_message: str | None = ..., entity: list[AlterClientQuotasResponse.EntryData.EntityData] = ...) -> None: ...
    throttle_time_ms: int
    entries: list[AlterClientQuotasResponse.EntryData]
    def __init__(self, throttle_time_ms: int = ..., entries: list[AlterClientQuotasResponse.EntryData] = ...) -> None: ...
class DescribeUserScramCredentialsRequest(Request[DescribeUserScramCredentialsResponse]):
    class UserName(MessageBase):
        name: str
        def __init__(self, name: str = ...) -> None: ...
    users: list[DescribeUserScramCredentialsRequest.UserName] | None
    def __init__(self, users: list[DescribeUserScramCredentialsRequest.UserName] | None = ...) -> None: ...
class DescribeUserScramCredentialsResponse(MessageBase):
    class DescribeUserScramCredentialsResult(MessageBase):
        class CredentialInfo(MessageBase):
            mechanism: int
            iterations: int
            def __init__(self, mechanism: int = ..., iterations: int = ...) -> None: ...
        user: str
        error_code: int
        error_message: str | None
        credential_infos: list[DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult.CredentialInfo]
        def __init__(self, user: str = ..., error_code: int = ..., error_message: str | None = ..., credential_infos: list[DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult.CredentialInfo] = ...) -> None: ...
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    results: list[DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult]
    def __init__(self, throttle_time_ms: int = ..., error_code: int = ..., error_message: str | None = ..., results: list[DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult] = ...) -> None: ...
class AlterUserScramCredentialsRequest(Request[AlterUserScramCredentialsResponse]):
    class ScramCredentialDeletion(MessageBase):
        name: str
        mechanism: int
        def __init__(self, name: str = ..., mechanism: int = ...) -> None: ...
    class ScramCredentialUpsertion(MessageBase):
        name: str
        mechanism: int
        iterations: int
        salt: bytes
        salted_password: bytes
        def __init__(self, name: str = ..., mechanism: int = ..., iterations: int = ..., salt: bytes = ..., salted_password: bytes = ...) -> None: ...
    deletions: list[AlterUserScramCredentialsRequest.ScramCredentialDeletion]
    upsertions: list[AlterUserScramCredentialsRequest.ScramCredentialUpsertion]
    def __init__(self, deletions: list[AlterUserScramCredentialsRequest.ScramCredentialDeletion] = ..., upsertions: list[AlterUserScramCredentialsRequest.ScramCredentialUpsertion] = ...) -> None: ...
class AlterUserScramCredentialsResponse(MessageBase):
    class AlterUserScramCredentialsResult(MessageBase):
        user: str
        error_code: int
        error_message: str | None
        def __init__(self, user: str = ..., error_code: int = ..., error_message: str | None = ...) -> None: ...
    throttle_time_ms: int
    results: list[AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult]
    def __init__(self, throttle_time_ms: int = ..., results: list[AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult] = ...) -> None: ...
class DescribeQuorumRequest(Request[DescribeQuorumResponse]):
    class TopicData(MessageBase):
        class PartitionData(MessageBase):
            partition_index: int
            def __init__(self, partition_index: int = ...) -> None: ...
        topic_name: str
        partitions: list[DescribeQuorumRequest.TopicData.PartitionData]
        def __init__(self, topic_name: str = ..., partitions: list[DescribeQuorumRequest.TopicData.PartitionData] = ...) -> None: ...
    topics: list[DescribeQuorumRequest.TopicData]
    def __init__(self, topics: list[DescribeQuorumRequest.TopicData] = ...) -> None: ...
class DescribeQuorumResponse(MessageBase):
    class TopicData(MessageBase):
        class PartitionData(MessageBase):
            class ReplicaState(MessageBase):
                replica_id: int
                replica_directory_id: UUID | None
                log_end_offset: int
                last_fetch_timestamp: int
                last_caught_up_timestamp: int
                def __init__(self, replica_id: int = ..., replica_directory_id: UUID | None = ..., log_end_offset: int = ..., last_fetch_timestamp: int = ..., last_caught_up_timestamp: int = ...) -> None: ...
            partition_index: int
            error_code: int
            error_message: str | None
            leader_id: int
            leader_epoch: int
            high_watermark: int
            current_voters: list[DescribeQuorumResponse.TopicData.PartitionData.ReplicaState]
            observers: list[DescribeQuorumResponse.TopicData.PartitionData.ReplicaState]
            def __init__(self, partition_index: int = ..., error_code: int = ..., error_message: str | None = ..., leader_id: int = ..., leader_epoch: int = ..., high_watermark: int = ..., current_voters: list[DescribeQuorumResponse.TopicData.PartitionData.ReplicaState] = ..., observers: list[DescribeQuorumResponse.TopicData.PartitionData.ReplicaState] = ...) -> None: ...
        topic_name: str
        partitions: list[DescribeQuorumResponse.TopicData.PartitionData]
        def __init__(self, topic_name: str = ..., partitions: list[DescribeQuorumResponse.TopicData.PartitionData] = ...) -> None: ...
    class Node(MessageBase):
        class Listener(MessageBase):
            name: str
            host: str
            port: int
            def __init__(self, name: str = ..., host: str = ..., port: int = ...) -> None: ...
        node_id: int
        listeners: list[DescribeQuorumResponse.Node.Listener]
        def __init__(self, node_id: int = ..., listeners: list[DescribeQuorumResponse.Node.Listener] = ...) -> None: ...
    error_code: int
    error_message: str | None
    topics: list[DescribeQuorumResponse.TopicData]
    nodes: list[DescribeQuorumResponse.Node]
    def __init__(self, error_code: int = ..., error_message: str | None = ..., topics: list[DescribeQuorumResponse.TopicData] = ..., nodes: list[DescribeQuorumResponse.Node] = ...) -> None: ...
class UpdateFeaturesRequest(Request[UpdateFeaturesResponse]):
    class FeatureUpdateKey(MessageBase):
        feature: str
        max_version_level: int
        allow_downgrade: bool
        upgrade_type: int
        def __init__(self, feature: str = ..., max_version_level: int = ..., allow_downgrade: bool = ..., upgrade_type: int = ...) -> None: ...
    timeout_ms: int
    feature_updates: list[UpdateFeaturesRequest.FeatureUpdateKey]
    validate_only: bool
    def __init__(self, timeout_ms: int = ..., feature_updates: list[UpdateFeaturesRequest.FeatureUpdateKey] = ..., validate_only: bool = ...) -> None: ...
class UpdateFeaturesResponse(MessageBase):
    class UpdatableFeatureResult(MessageBase):
        feature: str
        error_code: int
        error_message: str | None
        def __init__(self, feature: str = ..., error_code: int = ..., error_message: str | None = ...) -> None: ...
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    results: list[UpdateFeaturesResponse.UpdatableFeatureResult]
    def __init__(self, throttle_time_ms: int = ..., error_code: int = ..., error_message: str | None = ..., results: list[UpdateFeaturesResponse.UpdatableFeatureResult] = ...) -> None: ...
class DescribeClusterRequest(Request[DescribeClusterResponse]):
    include_cluster_authorized_operations: bool
    endpoint_type: int
    include_fenced_brokers: bool
    def __init__(self, include_cluster_authorized_operations: bool = ..., endpoint_type: int = ..., include_fenced_brokers: bool = ...) -> None: ...
class DescribeClusterResponse(MessageBase):
    class DescribeClusterBroker(MessageBase):
        broker_id: int
        host: str
        port: int
        rack: str | None
        is_fenced: bool
        def __init__(self, broker_id: int = ..., host: str = ..., port: int = ..., rack: str | None = ..., is_fenced: bool = ...) -> None: ...
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    endpoint_type: int
    cluster_id: str
    controller_id: int
    brokers: list[DescribeClusterResponse.DescribeClusterBroker]
    cluster_authorized_operations: int
    def __init__(self, throttle_time_ms: int = ..., error_code: int = ..., error_message: str | None = ..., endpoint_type: int = ..., cluster_id: str = ..., controller_id: int = ..., brokers: list[DescribeClusterResponse.DescribeClusterBroker] = ..., cluster_authorized_operations: int = ...) -> None: ...
class DescribeProducersRequest(Request[DescribeProducersResponse]):
    class TopicRequest(MessageBase):
        name: str
        partition_indexes: list[int]
        def __init__(self, name: str = ..., partition_indexes: list[int] = ...) -> None: ...
    topics: list[DescribeProducersRequest.TopicRequest]
    def __init__(self, topics: list[DescribeProducersRequest.TopicRequest] = ...) -> None: ...
class DescribeProducersResponse(MessageBase):
    class TopicResponse(MessageBase):
        class PartitionResponse(MessageBase):
            class ProducerState(MessageBase):
                producer_id: int
                producer_epoch: int
                last_sequence: int
                last_timestamp: int
                coordinator_epoch: int
                current_txn_start_offset: int
                def __init__(self, producer_id: int = ..., producer_epoch: int = ..., last_sequence: int = ..., last_timestamp: int = ..., coordinator_epoch: int = ..., current_txn_start_offset: int = ...) -> None: ...
            partition_index: int
            error_code: int
            error_message: str | None
            active_producers: list[DescribeProducersResponse.TopicResponse.PartitionResponse.ProducerState]
            def __init__(self, partition_index: int = ..., error_code: int = ..., error_message: str | None = ..., active_producers: list[DescribeProducersResponse.TopicResponse.PartitionResponse.ProducerState] = ...) -> None: ...
        name: str
        partitions: list[DescribeProducersResponse.TopicResponse.PartitionResponse]
        def __init__(self, name: str = ..., partitions: list[DescribeProducersResponse.TopicResponse.PartitionResponse] = ...) -> None: ...
    throttle_time_ms: int
    topics: list[DescribeProducersResponse.TopicResponse]
    def __init__(self, throttle_time_ms: int = ..., topics: list[DescribeProducersResponse.TopicResponse] = ...) -> None: ...
class UnregisterBrokerRequest(Request[UnregisterBrokerResponse]):
    broker_id: int
    def __init__(self, broker_id: int = ...) -> None: ...
class UnregisterBrokerResponse(MessageBase):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    def __init__(self, throttle_time_ms: int = ..., error_code: int = ..., error_message: str | None = ...) -> None: ...
class DescribeTransactionsRequest(Request[DescribeTransactionsResponse]):
    transactional_ids: list[str]
    def __init__(self, transactional_ids: list[str] = ...) -> None: ...
class DescribeTransactionsResponse(MessageBase):
    class TransactionState(MessageBase):
        class TopicData(MessageBase):
            topic: str
            partitions: list[int]
            def __init__(self, topic: str = ..., partitions: list[int] = ...) -> None: ...
        error_code: int
        transactional_id: str
        transaction_state: str
        transaction_timeout_ms: int
        transaction_start_time_ms: int
        producer_id: int
        producer_epoch: int
        topics: list[DescribeTransactionsResponse.TransactionState.TopicData]
        def __init__(self, error_code: int = ..., transactional_id: str = ..., transaction_state: str = ..., transaction_timeout_ms: int = ..., transaction_start_time_ms: int = ..., producer_id: int = ..., producer_epoch: int = ..., topics: list[DescribeTransactionsResponse.TransactionState.TopicData] = ...) -> None: ...
    throttle_time_ms: int
    transaction_states: list[DescribeTransactionsResponse.TransactionState]
    def __init__(self, throttle_time_ms: int = ..., transaction_states: list[DescribeTransactionsResponse.TransactionState] = ...) -> None: ...
class ListTransactionsRequest(Request[ListTransactionsResponse]):
    state_filters: list[str]
    producer_id_filters: list[int]
    duration_filter: int
    transactional_id_pattern: str | None
    def __init__(self, state_filters: list[str] = ..., producer_id_filters: list[int] = ..., duration_filter: int = ..., transactional_id_pattern: str | None = ...) -> None: ...
class ListTransactionsResponse(MessageBase):
    class TransactionState(MessageBase):
        transactional_id: str
        producer_id: int
        transaction_state: str
        def __init__(self, transactional_id: str = ..., producer_id: int = ..., transaction_state: str = ...) -> None: ...
    throttle_time_ms: int
    error_code: int
    unknown_state_filters: list[str]
    transaction_states: list[ListTransactionsResponse.TransactionState]
    def __init__(self, throttle_time_ms: int = ..., error_code: int = ..., unknown_state_filters: list[str] = ..., transaction_states: list[ListTransactionsResponse.TransactionState] = ...) -> None: ...
class ConsumerGroupHeartbeatRequest(Request[ConsumerGroupHeartbeatResponse]):
    class TopicPartitions(MessageBase):
        topic_id: UUID | None
        partitions: list[int]
        def __init__(self, topic_id: UUID | None = ..., partitions: list[int] = ...) -> None: ...
    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str | None
    rack_id: str | None
    rebalance_timeout_ms: int
    subscribed_topic_names: list[str] | None
    subscribed_topic_regex: str | None
    server_assignor: str | None
    topic_partitions: list[ConsumerGroupHeartbeatRequest.TopicPartitions] | None
    def __init__(self, group_id: str = ..., member_id: str = ..., member_epoch: int = ..., instance_id: str | None = ..., rack_id: str | None = ..., rebalance_timeout_ms: int = ..., subscribed_topic_names: list[str] | None = ..., subscribed_topic_regex: str | None = ..., server_assignor: str | None = ..., topic_partitions: list[ConsumerGroupHeartbeatRequest.TopicPartitions] | None = ...) -> None: ...
class ConsumerGroupHeartbeatResponse(MessageBase):
    class Assignment(MessageBase):
        class TopicPartitions(MessageBase):
            topic_id: UUID | None
            partitions: list[int]
            def __init__(self, topic_id: UUID | None = ..., partitions: list[int] = ...) -> None: ...
        topic_partitions: list[ConsumerGroupHeartbeatResponse.Assignment.TopicPartitions]
        def __init__(self, topic_partitions: list[ConsumerGroupHeartbeatResponse.Assignment.TopicPartitions] = ...) -> None: ...
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    member_id: str | None
    member_epoch: int
    heartbeat_interval_ms: int
    assignment: ConsumerGroupHeartbeatResponse.Assignment | None
    def __init__(self, throttle_time_ms: int = ..., error_code: int = ..., error_message: str | None = ..., member_id: str | None = ..., member_epoch: int = ..., heartbeat_interval_ms: int = ..., assignment: ConsumerGroupHeartbeatResponse.Assignment | None = ...) -> None: ...
class ConsumerGroupDescribeRequest(Request[ConsumerGroupDescribeResponse]):
    group_ids: list[str]
    include_authorized_operations: bool
    def __init__(self, group_ids: list[str] = ..., include_authorized_operations: bool = ...) -> None: ...
class ConsumerGroupDescribeResponse(MessageBase):
    class DescribedGroup(MessageBase):
        class Member(MessageBase):
            class Assignment(MessageBase):
                class TopicPartitions(MessageBase):
                    topic_id: UUID | None
                    topic_name: str
                    partitions: list[int]
                    def __init__(self, topic_id: UUID | None = ..., topic_name: str = ..., partitions: list[int] = ...) -> None: ...
                topic_partitions: list[ConsumerGroupDescribeResponse.DescribedGroup.Member.Assignment.TopicPartitions]
                def __init__(self, topic_partitions: list[ConsumerGroupDescribeResponse.DescribedGroup.Member.Assignment.TopicPartitions] = ...) -> None: ...
            member_id: str
            instance_id: str | None
            rack_id: str | None
            member_epoch: int
            client_id: str
            client_host: str
            subscribed_topic_names: list[str]
            subscribed_topic_regex: str | None
            assignment: ConsumerGroupDescribeResponse.DescribedGroup.Member.Assignment | None
            target_assignment: ConsumerGroupDescribeResponse.DescribedGroup.Member.Assignment | None
            member_type: int
            def __init__(self, member_id: str = ..., instance_id: str | None = ..., rack_id: str | None = ..., member_epoch: int = ..., client_id: str = ..., client_host: str = ..., subscribed_topic_names: list[str] = ..., subscribed_topic_regex: str | None = ..., assignment: ConsumerGroupDescribeResponse.DescribedGroup.Member.Assignment | None = ..., target_assignment: ConsumerGroupDescribeResponse.DescribedGroup.Member.Assignment | None = ..., member_type: int = ...) -> None: ...
        error_code: int
        error_message: str | None
        group_id: str
        group_state: str
        group_epoch: int
        assignment_epoch: int
        assignor_name: str
        members: list[ConsumerGroupDescribeResponse.DescribedGroup.Member]
        authorized_operations: int
        def __init__(self, error_code: int = ..., error_message: str | None = ..., group_id: str = ..., group_state: str = ..., group_epoch: int = ..., assignment_epoch: int = ..., assignor_name: str = ..., members: list[ConsumerGroupDescribeResponse.DescribedGroup.Member] = ..., authorized_operations: int = ...) -> None: ...
    throttle_time_ms: int
    groups: list[ConsumerGroupDescribeResponse.DescribedGroup]
    def __init__(self, throttle_time_ms: int = ..., groups: list[ConsumerGroupDescribeResponse.DescribedGroup] = ...) -> None: ...
class GetTelemetrySubscriptionsRequest(Request[GetTelemetrySubscriptionsResponse]):
    client_instance_id: UUID | None
    def __init__(self, client_instance_id: UUID | None = ...) -> None: ...
class GetTelemetrySubscriptionsResponse(MessageBase):
    throttle_time_ms: int
    error_code: int
    client_instance_id: UUID | None
    subscription_id: int
    accepted_compression_types: list[int]
    push_interval_ms: int
    telemetry_max_bytes: int
    delta_temporality: bool
    requested_metrics: list[str]
    def __init__(self, throttle_time_ms: int = ..., error_code: int = ..., client_instance_id: UUID | None = ..., subscription_id: int = ..., accepted_compression_types: list[int] = ..., push_interval_ms: int = ..., telemetry_max_bytes: int = ..., delta_temporality: bool = ..., requested_metrics: list[str] = ...) -> None: ...
class PushTelemetryRequest(Request[PushTelemetryResponse]):
    client_instance_id: UUID | None
    subscription_id: int
    terminating: bool
    compression_type: int
    metrics: bytes
    def __init__(self, client_instance_id: UUID | None = ..., subscription_id: int = ..., terminating: bool = ..., compression_type: int = ..., metrics: bytes = ...) -> None: ...
class PushTelemetryResponse(MessageBase):
    throttle_time_ms: int
    error_code: int
    def __init__(self, throttle_time_ms: int = ..., error_code: int = ...) -> None: ...
class ListConfigResourcesRequest(Request[ListConfigResourcesResponse]):
    resource_types: list[int]
    def __init__(self, resource_types: list[int] = ...) -> None: ...
class ListConfigResourcesResponse(MessageBase):
    class ConfigResource(MessageBase):
        resource_name: str
        resource_type: int
        def __init__(self, resource_name: str = ..., resource_type: int = ...) -> None: ...
    throttle_time_ms: int
    error_code: int
    config_resources: list[ListConfigResourcesResponse.ConfigResource]
    def __init__(self, throttle_time_ms: int = ..., error_code: int = ..., config_resources: list[ListConfigResourcesResponse.ConfigResource] = ...) -> None: ...
class DescribeTopicPartitionsRequest(Request[DescribeTopicPartitionsResponse]):
    class TopicRequest(MessageBase):
        name: str
        def __init__(self, name: str = ...) -> None: ...
    class Cursor(MessageBase):
        topic_name: str
        partition_index: int
        def __init__(self, topic_name: str = ..., partition_index: int = ...) -> None: ...
    topics: list[DescribeTopicPartitionsRequest.TopicRequest]
    response_partition_limit: int
    cursor: DescribeTopicPartitionsRequest.Cursor | None
    def __init__(self, topics: list[DescribeTopicPartitionsRequest.TopicRequest] = ..., response_partition_limit: int = ..., cursor: DescribeTopicPartitionsRequest.Cursor | None = ...) -> None: ...
class DescribeTopicPartitionsResponse(MessageBase):
    class DescribeTopicPartitionsResponseTopic(MessageBase):
        class DescribeTopicPartitionsResponsePartition(MessageBase):
            error_code: int
            partition_index: int
            leader_id: int
            leader_epoch: int
            replica_nodes: list[int]
            isr_nodes: list[int]
            eligible_leader_replicas: list[int] | None
            last_known_elr: list[int] | None
            offline_replicas: list[int]
            def __init__(self, error_code: int = ..., partition_index: int = ..., leader_id: int = ..., leader_epoch: int = ..., replica_nodes: list[int] = ..., isr_nodes: list[int] = ..., eligible_leader_replicas: list[int] | None = ..., last_known_elr: list[int] | None = ..., offline_replicas: list[int] = ...) -> None: ...
        error_code: int
        name: str | None
        topic_id: UUID | None
        is_internal: bool
        partitions: list[DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic.DescribeTopicPartitionsResponsePartition]
        topic_authorized_operations: int
        def __init__(self, error_code: int = ..., name: str | None = ..., topic_id: UUID | None = ..., is_internal: bool = ..., partitions: list[DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic.DescribeTopicPartitionsResponsePartition] = ..., topic_authorized_operations: int = ...) -> None: ...
    class Cursor(MessageBase):
        topic_name: str
        partition_index: int
        def __init__(self, topic_name: str = ..., partition_index: int = ...) -> None: ...
    throttle_time_ms: int
    topics: list[DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic]
    next_cursor: DescribeTopicPartitionsResponse.Cursor | None
    def __init__(self, throttle_time_ms: int = ..., topics: list[DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic] = ..., next_cursor: DescribeTopicPartitionsResponse.Cursor | None = ...) -> None: ...
class ShareGroupHeartbeatRequest(Request[ShareGroupHeartbeatResponse]):
    group_id: str
    member_id: str
    member_epoch: int
    rack_id: str | None
    subscribed_topic_names: list[str] | None
    def __init__(self, group_id: str = ..., member_id: str = ..., member_epoch: int = ..., rack_id: str | None = ..., subscribed_topic_names: list[str] | None = ...) -> None: ...
class ShareGroupHeartbeatResponse(MessageBase):
    class Assignment(MessageBase):
        class TopicPartitions(MessageBase):
            topic_id: UUID | None
            partitions: list[int]
            def __init__(self, topic_id: UUID | None = ..., partitions: list[int] = ...) -> None: ...
        topic_partitions: list[ShareGroupHeartbeatResponse.Assignment.TopicPartitions]
        def __init__(self, topic_partitions: list[ShareGroupHeartbeatResponse.Assignment.TopicPartitions] = ...) -> None: ...
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    member_id: str | None
    member_epoch: int
    heartbeat_interval_ms: int
    assignment: ShareGroupHeartbeatResponse.Assignment | None
    def __init__(self, throttle_time_ms: int = ..., error_code: int = ..., error_message: str | None = ..., member_id: str | None = ..., member_epoch: int = ..., heartbeat_interval_ms: int = ..., assignment: ShareGroupHeartbeatResponse.Assignment | None = ...) -> None: ...
class ShareGroupDescribeRequest(Request[ShareGroupDescribeResponse]):
    group_ids: list[str]
    include_authorized_operations: bool
    def __init__(self, group_ids: list[str] = ..., include_authorized_operations: bool = ...) -> None: ...
class ShareGroupDescribeResponse(MessageBase):
    class DescribedGroup(MessageBase):
        class Member(MessageBase):
            class Assignment(MessageBase):
                class TopicPartitions(MessageBase):
                    topic_id: UUID | None
                    topic_name: str
                    partitions: list[int]
                    def __init__(self, topic_id: UUID | None = ..., topic_name: str = ..., partitions: list[int] = ...) -> None: ...
                topic_partitions: list[ShareGroupDescribeResponse.DescribedGroup.Member.Assignment.TopicPartitions]
                def __init__(self, topic_partitions: list[ShareGroupDescribeResponse.DescribedGroup.Member.Assignment.TopicPartitions] = ...) -> None: ...
            member_id: str
            rack_id: str | None
            member_epoch: int
            client_id: str
            client_host: str
            subscribed_topic_names: list[str]
            assignment: ShareGroupDescribeResponse.DescribedGroup.Member.Assignment | None
            def __init__(self, member_id: str = ..., rack_id: str | None = ..., member_epoch: int = ..., client_id: str = ..., client_host: str = ..., subscribed_topic_names: list[str] = ..., assignment: ShareGroupDescribeResponse.DescribedGroup.Member.Assignment | None = ...) -> None: ...
        error_code: int
        error_message: str | None
        group_id: str
        group_state: str
        group_epoch: int
        assignment_epoch: int
        assignor_name: str
        members: list[ShareGroupDescribeResponse.DescribedGroup.Member]
        authorized_operations: int
        def __init__(self, error_code: int = ..., error_message: str | None = ..., group_id: str = ..., group_state: str = ..., group_epoch: int = ..., assignment_epoch: int = ..., assignor_name: str = ..., members: list[ShareGroupDescribeResponse.DescribedGroup.Member] = ..., authorized_operations: int = ...) -> None: ...
    throttle_time_ms: int
    groups: list[ShareGroupDescribeResponse.DescribedGroup]
    def __init__(self, throttle_time_ms: int = ..., groups: list[ShareGroupDescribeResponse.DescribedGroup] = ...) -> None: ...
class ShareFetchRequest(Request[ShareFetchResponse]):
    class FetchTopic(MessageBase):
        class FetchPartition(MessageBase):
            class AcknowledgementBatch(MessageBase):
                first_offset: int
                last_offset: int
                acknowledge_types: list[int]
                def __init__(self, first_offset: int = ..., last_offset: int = ..., acknowledge_types: list[int] = ...) -> None: ...
            partition_index: int
            partition_max_bytes: int
            acknowledgement_batches: list[ShareFetchRequest.FetchTopic.FetchPartition.AcknowledgementBatch]
            def __init__(self, partition_index: int = ..., partition_max_bytes: int = ..., acknowledgement_batches: list[ShareFetchRequest.FetchTopic.FetchPartition.AcknowledgementBatch] = ...) -> None: ...
        topic_id: UUID | None
        partitions: list[ShareFetchRequest.FetchTopic.FetchPartition]
        def __init__(self, topic_id: UUID | None = ..., partitions: list[ShareFetchRequest.FetchTopic.FetchPartition] = ...) -> None: ...
    class ForgottenTopic(MessageBase):
        topic_id: UUID | None
        partitions: list[int]
        def __init__(self, topic_id: UUID | None = ..., partitions: list[int] = ...) -> None: ...
    group_id: str | None
    member_id: str | None
    share_session_epoch: int
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    max_records: int
    batch_size: int
    share_acquire_mode: int
    is_renew_ack: bool
    topics: list[ShareFetchRequest.FetchTopic]
    forgotten_topics_data: list[ShareFetchRequest.ForgottenTopic]
    def __init__(self, group_id: str | None = ..., member_id: str | None = ..., share_session_epoch: int = ..., max_wait_ms: int = ..., min_bytes: int = ..., max_bytes: int = ..., max_records: int = ..., batch_size: int = ..., share_acquire_mode: int = ..., is_renew_ack: bool = ..., topics: list[ShareFetchRequest.FetchTopic] = ..., forgotten_topics_data: list[ShareFetchRequest.ForgottenTopic] = ...) -> None: ...
class ShareFetchResponse(MessageBase):
    class ShareFetchableTopicResponse(MessageBase):
        class PartitionData(MessageBase):
            class LeaderIdAndEpoch(MessageBase):
                leader_id: int
                leader_epoch: int
                def __init__(self, leader_id: int = ..., leader_epoch: int = ...) -> None: ...
            class AcquiredRecords(MessageBase):
                first_offset: int
                last_offset: int
                delivery_count: int
                def __init__(self, first_offset: int = ..., last_offset: int = ..., delivery_count: int = ...) -> None: ...
            partition_index: int
            error_code: int
            error_message: str | None
            acknowledge_error_code: int
            acknowledge_error_message: str | None
            current_leader: ShareFetchResponse.ShareFetchableTopicResponse.PartitionData.LeaderIdAndEpoch | None
            records: Buffer
            acquired_records: list[ShareFetchResponse.ShareFetchableTopicResponse.PartitionData.AcquiredRecords]
            def __init__(self, partition_index: int = ..., error_code: int = ..., error_message: str | None = ..., acknowledge_error_code: int = ..., acknowledge_error_message: str | None = ..., current_leader: ShareFetchResponse.ShareFetchableTopicResponse.PartitionData.LeaderIdAndEpoch | None = ..., records: Buffer = ..., acquired_records: list[ShareFetchResponse.ShareFetchableTopicResponse.PartitionData.AcquiredRecords] = ...) -> None: ...
        topic_id: UUID | None
        partitions: list[ShareFetchResponse.ShareFetchableTopicResponse.PartitionData]
        def __init__(self, topic_id: UUID | None = ..., partitions: list[ShareFetchResponse.ShareFetchableTopicResponse.PartitionData] = ...) -> None: ...
    class NodeEndpoint(MessageBase):
        node_id: int
        host: str
        port: int
        rack: str | None
        def __init__(self, node_id: int = ..., host: str = ..., port: int = ..., rack: str | None = ...) -> None: ...
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    acquisition_lock_timeout_ms: int
    responses: list[ShareFetchResponse.ShareFetchableTopicResponse]
    node_endpoints: list[ShareFetchResponse.NodeEndpoint]
    def __init__(self, throttle_time_ms: int = ..., error_code: int = ..., error_message: str | None = ..., acquisition_lock_timeout_ms: int = ..., responses: list[ShareFetchResponse.ShareFetchableTopicResponse] = ..., node_endpoints: list[ShareFetchResponse.NodeEndpoint] = ...) -> None: ...
class ShareAcknowledgeRequest(Request[ShareAcknowledgeResponse]):
    class AcknowledgeTopic(MessageBase):
        class AcknowledgePartition(MessageBase):
            class AcknowledgementBatch(MessageBase):
                first_offset: int
                last_offset: int
                acknowledge_types: list[int]
                def __init__(self, first_offset: int = ..., last_offset: int = ..., acknowledge_types: list[int] = ...) -> None: ...
            partition_index: int
            acknowledgement_batches: list[ShareAcknowledgeRequest.AcknowledgeTopic.AcknowledgePartition.AcknowledgementBatch]
            def __init__(self, partition_index: int = ..., acknowledgement_batches: list[ShareAcknowledgeRequest.AcknowledgeTopic.AcknowledgePartition.AcknowledgementBatch] = ...) -> None: ...
        topic_id: UUID | None
        partitions: list[ShareAcknowledgeRequest.AcknowledgeTopic.AcknowledgePartition]
        def __init__(self, topic_id: UUID | None = ..., partitions: list[ShareAcknowledgeRequest.AcknowledgeTopic.AcknowledgePartition] = ...) -> None: ...
    group_id: str | None
    member_id: str | None
    share_session_epoch: int
    is_renew_ack: bool
    topics: list[ShareAcknowledgeRequest.AcknowledgeTopic]
    def __init__(self, group_id: str | None = ..., member_id: str | None = ..., share_session_epoch: int = ..., is_renew_ack: bool = ..., topics: list[ShareAcknowledgeRequest.AcknowledgeTopic] = ...) -> None: ...
class ShareAcknowledgeResponse(MessageBase):
    class ShareAcknowledgeTopicResponse(MessageBase):
        class PartitionData(MessageBase):
            class LeaderIdAndEpoch(MessageBase):
                leader_id: int
                leader_epoch: int
                def __init__(self, leader_id: int = ..., leader_epoch: int = ...) -> None: ...
            partition_index: int
            error_code: int
            error_message: str | None
            current_leader: ShareAcknowledgeResponse.ShareAcknowledgeTopicResponse.PartitionData.LeaderIdAndEpoch | None
            def __init__(self, partition_index: int = ..., error_code: int = ..., error_message: str | None = ..., current_leader: ShareAcknowledgeResponse.ShareAcknowledgeTopicResponse.PartitionData.LeaderIdAndEpoch | None = ...) -> None: ...
        topic_id: UUID | None
        partitions: list[ShareAcknowledgeResponse.ShareAcknowledgeTopicResponse.PartitionData]
        def __init__(self, topic_id: UUID | None = ..., partitions: list[ShareAcknowledgeResponse.ShareAcknowledgeTopicResponse.PartitionData] = ...) -> None: ...
    class NodeEndpoint(MessageBase):
        node_id: int
        host: str
        port: int
        rack: str | None
        def __init__(self, node_id: int = ..., host: str = ..., port: int = ..., rack: str | None = ...) -> None: ...
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    acquisition_lock_timeout_ms: int
    responses: list[ShareAcknowledgeResponse.ShareAcknowledgeTopicResponse]
    node_endpoints: list[ShareAcknowledgeResponse.NodeEndpoint]
    def __init__(self, throttle_time_ms: int = ..., error_code: int = ..., error_message: str | None = ..., acquisition_lock_timeout_ms: int = ..., responses: list[ShareAcknowledgeResponse.ShareAcknowledgeTopicResponse] = ..., node_endpoints: list[ShareAcknowledgeResponse.NodeEndpoint] = ...) -> None: ...
class AddRaftVoterRequest(Request[AddRaftVoterResponse]):
    class Listener(MessageBase):
        name: str
        host: str
        port: int
        def __init__(self, name: str = ..., host: str = ..., port: int = ...) -> None: ...
    cluster_id: str | None
    timeout_ms: int
    voter_id: int
    voter_directory_id: UUID | None
    listeners: list[AddRaftVoterRequest.Listener]
    ack_when_committed: bool
    def __init__(self, cluster_id: str | None = ..., timeout_ms: int = ..., voter_id: int = ..., voter_directory_id: UUID | None = ..., listeners: list[AddRaftVoterRequest.Listener] = ..., ack_when_committed: bool = ...) -> None: ...
class AddRaftVoterResponse(MessageBase):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    def __init__(self, throttle_time_ms: int = ..., error_code: int = ..., error_message: str | None = ...) -> None: ...
class RemoveRaftVoterRequest(Request[RemoveRaftVoterResponse]):
    cluster_id: str | None
    voter_id: int
    voter_directory_id: UUID | None
    def __init__(self, cluster_id: str | None = ..., voter_id: int = ..., voter_directory_id: UUID | None = ...) -> None: ...
class RemoveRaftVoterResponse(MessageBase):
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    def __init__(self, throttle_time_ms: int = ..., error_code: int = ..., error_message: str | None = ...) -> None: ...
class InitializeShareGroupStateRequest(Request[InitializeShareGroupStateResponse]):
    class InitializeStateData(MessageBase):
        class PartitionData(MessageBase):
            partition: int
            state_epoch: int
            start_offset: int
            def __init__(self, partition: int = ..., state_epoch: int = ..., start_offset: int = ...) -> None: ...
        topic_id: UUID | None
        partitions: list[InitializeShareGroupStateRequest.InitializeStateData.PartitionData]
        def __init__(self, topic_id: UUID | None = ..., partitions: list[InitializeShareGroupStateRequest.InitializeStateData.PartitionData] = ...) -> None: ...
    group_id: str
    topics: list[InitializeShareGroupStateRequest.InitializeStateData]
    def __init__(self, group_id: str = ..., topics: list[InitializeShareGroupStateRequest.InitializeStateData] = ...) -> None: ...
class InitializeShareGroupStateResponse(MessageBase):
    class InitializeStateResult(MessageBase):
        class PartitionResult(MessageBase):
            partition: int
            error_code: int
            error_message: str | None
            def __init__(self, partition: int = ..., error_code: int = ..., error_message: str | None = ...) -> None: ...
        topic_id: UUID | None
        partitions: list[InitializeShareGroupStateResponse.InitializeStateResult.PartitionResult]
        def __init__(self, topic_id: UUID | None = ..., partitions: list[InitializeShareGroupStateResponse.InitializeStateResult.PartitionResult] = ...) -> None: ...
    results: list[InitializeShareGroupStateResponse.InitializeStateResult]
    def __init__(self, results: list[InitializeShareGroupStateResponse.InitializeStateResult] = ...) -> None: ...
class ReadShareGroupStateRequest(Request[ReadShareGroupStateResponse]):
    class ReadStateData(MessageBase):
        class PartitionData(MessageBase):
            partition: int
            leader_epoch: int
            def __init__(self, partition: int = ..., leader_epoch: int = ...) -> None: ...
        topic_id: UUID | None
        partitions: list[ReadShareGroupStateRequest.ReadStateData.PartitionData]
        def __init__(self, topic_id: UUID | None = ..., partitions: list[ReadShareGroupStateRequest.ReadStateData.PartitionData] = ...) -> None: ...
    group_id: str
    topics: list[ReadShareGroupStateRequest.ReadStateData]
    def __init__(self, group_id: str = ..., topics: list[ReadShareGroupStateRequest.ReadStateData] = ...) -> None: ...
class ReadShareGroupStateResponse(MessageBase):
    class ReadStateResult(MessageBase):
        class PartitionResult(MessageBase):
            class StateBatch(MessageBase):
                first_offset: int
                last_offset: int
                delivery_state: int
                delivery_count: int
                def __init__(self, first_offset: int = ..., last_offset: int = ..., delivery_state: int = ..., delivery_count: int = ...) -> None: ...
            partition: int
            error_code: int
            error_message: str | None
            state_epoch: int
            start_offset: int
            state_batches: list[ReadShareGroupStateResponse.ReadStateResult.PartitionResult.StateBatch]
            def __init__(self, partition: int = ..., error_code: int = ..., error_message: str | None = ..., state_epoch: int = ..., start_offset: int = ..., state_batches: list[ReadShareGroupStateResponse.ReadStateResult.PartitionResult.StateBatch] = ...) -> None: ...
        topic_id: UUID | None
        partitions: list[ReadShareGroupStateResponse.ReadStateResult.PartitionResult]
        def __init__(self, topic_id: UUID | None = ..., partitions: list[ReadShareGroupStateResponse.ReadStateResult.PartitionResult] = ...) -> None: ...
    results: list[ReadShareGroupStateResponse.ReadStateResult]
    def __init__(self, results: list[ReadShareGroupStateResponse.ReadStateResult] = ...) -> None: ...
class WriteShareGroupStateRequest(Request[WriteShareGroupStateResponse]):
    class WriteStateData(MessageBase):
        class PartitionData(MessageBase):
            class StateBatch(MessageBase):
                first_offset: int
                last_offset: int
                delivery_state: int
                delivery_count: int
                def __init__(self, first_offset: int = ..., last_offset: int = ..., delivery_state: int = ..., delivery_count: int = ...) -> None: ...
            partition: int
            state_epoch: int
            leader_epoch: int
            start_offset: int
            delivery_complete_count: int
            state_batches: list[WriteShareGroupStateRequest.WriteStateData.PartitionData.StateBatch]
            def __init__(self, partition: int = ..., state_epoch: int = ..., leader_epoch: int = ..., start_offset: int = ..., delivery_complete_count: int = ..., state_batches: list[WriteShareGroupStateRequest.WriteStateData.PartitionData.StateBatch] = ...) -> None: ...
        topic_id: UUID | None
        partitions: list[WriteShareGroupStateRequest.WriteStateData.PartitionData]
        def __init__(self, topic_id: UUID | None = ..., partitions: list[WriteShareGroupStateRequest.WriteStateData.PartitionData] = ...) -> None: ...
    group_id: str
    topics: list[WriteShareGroupStateRequest.WriteStateData]
    def __init__(self, group_id: str = ..., topics: list[WriteShareGroupStateRequest.WriteStateData] = ...) -> None: ...
class WriteShareGroupStateResponse(MessageBase):
    class WriteStateResult(MessageBase):
        class PartitionResult(MessageBase):
            partition: int
            error_code: int
            error_message: str | None
            def __init__(self, partition: int = ..., error_code: int = ..., error_message: str | None = ...) -> None: ...
        topic_id: UUID | None
        partitions: list[WriteShareGroupStateResponse.WriteStateResult.PartitionResult]
        def __init__(self, topic_id: UUID | None = ..., partitions: list[WriteShareGroupStateResponse.WriteStateResult.PartitionResult] = ...) -> None: ...
    results: list[WriteShareGroupStateResponse.WriteStateResult]
    def __init__(self, results: list[WriteShareGroupStateResponse.WriteStateResult] = ...) -> None: ...
class DeleteShareGroupStateRequest(Request[DeleteShareGroupStateResponse]):
    class DeleteStateData(MessageBase):
        class PartitionData(MessageBase):
            partition: int
            def __init__(self, partition: int = ...) -> None: ...
        topic_id: UUID | None
        partitions: list[DeleteShareGroupStateRequest.DeleteStateData.PartitionData]
        def __init__(self, topic_id: UUID | None = ..., partitions: list[DeleteShareGroupStateRequest.DeleteStateData.PartitionData] = ...) -> None: ...
    group_id: str
    topics: list[DeleteShareGroupStateRequest.DeleteStateData]
    def __init__(self, group_id: str = ..., topics: list[DeleteShareGroupStateRequest.DeleteStateData] = ...) -> None: ...
class DeleteShareGroupStateResponse(MessageBase):
    class DeleteStateResult(MessageBase):
        class PartitionResult(MessageBase):
            partition: int
            error_code: int
            error_message: str | None
            def __init__(self, partition: int = ..., error_code: int = ..., error_message: str | None = ...) -> None: ...
        topic_id: UUID | None
        partitions: list[DeleteShareGroupStateResponse.DeleteStateResult.PartitionResult]
        def __init__(self, topic_id: UUID | None = ..., partitions: list[DeleteShareGroupStateResponse.DeleteStateResult.PartitionResult] = ...) -> None: ...
    results: list[DeleteShareGroupStateResponse.DeleteStateResult]
    def __init__(self, results: list[DeleteShareGroupStateResponse.DeleteStateResult] = ...) -> None: ...
class ReadShareGroupStateSummaryRequest(Request[ReadShareGroupStateSummaryResponse]):
    class ReadStateSummaryData(MessageBase):
        class PartitionData(MessageBase):
            partition: int
            leader_epoch: int
            def __init__(self, partition: int = ..., leader_epoch: int = ...) -> None: ...
        topic_id: UUID | None
        partitions: list[ReadShareGroupStateSummaryRequest.ReadStateSummaryData.PartitionData]
        def __init__(self, topic_id: UUID | None = ..., partitions: list[ReadShareGroupStateSummaryRequest.ReadStateSummaryData.PartitionData] = ...) -> None: ...
    group_id: str
    topics: list[ReadShareGroupStateSummaryRequest.ReadStateSummaryData]
    def __init__(self, group_id: str = ..., topics: list[ReadShareGroupStateSummaryRequest.ReadStateSummaryData] = ...) -> None: ...
class ReadShareGroupStateSummaryResponse(MessageBase):
    class ReadStateSummaryResult(MessageBase):
        class PartitionResult(MessageBase):
            partition: int
            error_code: int
            error_message: str | None
            state_epoch: int
            leader_epoch: int
            start_offset: int
            delivery_complete_count: int
            def __init__(self, partition: int = ..., error_code: int = ..., error_message: str | None = ..., state_epoch: int = ..., leader_epoch: int = ..., start_offset: int = ..., delivery_complete_count: int = ...) -> None: ...
        topic_id: UUID | None
        partitions: list[ReadShareGroupStateSummaryResponse.ReadStateSummaryResult.PartitionResult]
        def __init__(self, topic_id: UUID | None = ..., partitions: list[ReadShareGroupStateSummaryResponse.ReadStateSummaryResult.PartitionResult] = ...) -> None: ...
    results: list[ReadShareGroupStateSummaryResponse.ReadStateSummaryResult]
    def __init__(self, results: list[ReadShareGroupStateSummaryResponse.ReadStateSummaryResult] = ...) -> None: ...
class StreamsGroupHeartbeatRequest(Request[StreamsGroupHeartbeatResponse]):
    class Topology(MessageBase):
        class Subtopology(MessageBase):
            class TopicInfo(MessageBase):
                class KeyValue(MessageBase):
                    key: str
                    value: str
                    def __init__(self, key: str = ..., value: str = ...) -> None: ...
                name: str
                partitions: int
                replication_factor: int
                topic_configs: list[StreamsGroupHeartbeatRequest.Topology.Subtopology.TopicInfo.KeyValue]
                def __init__(self, name: str = ..., partitions: int = ..., replication_factor: int = ..., topic_configs: list[StreamsGroupHeartbeatRequest.Topology.Subtopology.TopicInfo.KeyValue] = ...) -> None: ...
            class CopartitionGroup(MessageBase):
                source_topics: list[int]
                source_topic_regex: list[int]
                repartition_source_topics: list[int]
                def __init__(self, source_topics: list[int] = ..., source_topic_regex: list[int] = ..., repartition_source_topics: list[int] = ...) -> None: ...
            subtopology_id: str
            source_topics: list[str]
            source_topic_regex: list[str]
            state_changelog_topics: list[StreamsGroupHeartbeatRequest.Topology.Subtopology.TopicInfo]
            repartition_sink_topics: list[str]
            repartition_source_topics: list[StreamsGroupHeartbeatRequest.Topology.Subtopology.TopicInfo]
            copartition_groups: list[StreamsGroupHeartbeatRequest.Topology.Subtopology.CopartitionGroup]
            def __init__(self, subtopology_id: str = ..., source_topics: list[str] = ..., source_topic_regex: list[str] = ..., state_changelog_topics: list[StreamsGroupHeartbeatRequest.Topology.Subtopology.TopicInfo] = ..., repartition_sink_topics: list[str] = ..., repartition_source_topics: list[StreamsGroupHeartbeatRequest.Topology.Subtopology.TopicInfo] = ..., copartition_groups: list[StreamsGroupHeartbeatRequest.Topology.Subtopology.CopartitionGroup] = ...) -> None: ...
        epoch: int
        subtopologies: list[StreamsGroupHeartbeatRequest.Topology.Subtopology]
        def __init__(self, epoch: int = ..., subtopologies: list[StreamsGroupHeartbeatRequest.Topology.Subtopology] = ...) -> None: ...
    class TaskIds(MessageBase):
        subtopology_id: str
        partitions: list[int]
        def __init__(self, subtopology_id: str = ..., partitions: list[int] = ...) -> None: ...
    class Endpoint(MessageBase):
        host: str
        port: int
        def __init__(self, host: str = ..., port: int = ...) -> None: ...
    class KeyValue(MessageBase):
        key: str
        value: str
        def __init__(self, key: str = ..., value: str = ...) -> None: ...
    class TaskOffset(MessageBase):
        subtopology_id: str
        partition: int
        offset: int
        def __init__(self, subtopology_id: str = ..., partition: int = ..., offset: int = ...) -> None: ...
    group_id: str
    member_id: str
    member_epoch: int
    endpoint_information_epoch: int
    instance_id: str | None
    rack_id: str | None
    rebalance_timeout_ms: int
    topology: StreamsGroupHeartbeatRequest.Topology | None
    active_tasks: list[StreamsGroupHeartbeatRequest.TaskIds] | None
    standby_tasks: list[StreamsGroupHeartbeatRequest.TaskIds] | None
    warmup_tasks: list[StreamsGroupHeartbeatRequest.TaskIds] | None
    process_id: str | None
    user_endpoint: StreamsGroupHeartbeatRequest.Endpoint | None
    client_tags: list[StreamsGroupHeartbeatRequest.KeyValue] | None
    task_offsets: list[StreamsGroupHeartbeatRequest.TaskOffset] | None
    task_end_offsets: list[StreamsGroupHeartbeatRequest.TaskOffset] | None
    shutdown_application: bool
    def __init__(self, group_id: str = ..., member_id: str = ..., member_epoch: int = ..., endpoint_information_epoch: int = ..., instance_id: str | None = ..., rack_id: str | None = ..., rebalance_timeout_ms: int = ..., topology: StreamsGroupHeartbeatRequest.Topology | None = ..., active_tasks: list[StreamsGroupHeartbeatRequest.TaskIds] | None = ..., standby_tasks: list[StreamsGroupHeartbeatRequest.TaskIds] | None = ..., warmup_tasks: list[StreamsGroupHeartbeatRequest.TaskIds] | None = ..., process_id: str | None = ..., user_endpoint: StreamsGroupHeartbeatRequest.Endpoint | None = ..., client_tags: list[StreamsGroupHeartbeatRequest.KeyValue] | None = ..., task_offsets: list[StreamsGroupHeartbeatRequest.TaskOffset] | None = ..., task_end_offsets: list[StreamsGroupHeartbeatRequest.TaskOffset] | None = ..., shutdown_application: bool = ...) -> None: ...
class StreamsGroupHeartbeatResponse(MessageBase):
    class Status(MessageBase):
        status_code: int
        status_detail: str
        def __init__(self, status_code: int = ..., status_detail: str = ...) -> None: ...
    class TaskIds(MessageBase):
        subtopology_id: str
        partitions: list[int]
        def __init__(self, subtopology_id: str = ..., partitions: list[int] = ...) -> None: ...
    class EndpointToPartitions(MessageBase):
        class Endpoint(MessageBase):
            host: str
            port: int
            def __init__(self, host: str = ..., port: int = ...) -> None: ...
        class TopicPartition(MessageBase):
            topic: str
            partitions: list[int]
            def __init__(self, topic: str = ..., partitions: list[int] = ...) -> None: ...
        user_endpoint: StreamsGroupHeartbeatResponse.EndpointToPartitions.Endpoint | None
        active_partitions: list[StreamsGroupHeartbeatResponse.EndpointToPartitions.TopicPartition]
        standby_partitions: list[StreamsGroupHeartbeatResponse.EndpointToPartitions.TopicPartition]
        def __init__(self, user_endpoint: StreamsGroupHeartbeatResponse.EndpointToPartitions.Endpoint | None = ..., active_partitions: list[StreamsGroupHeartbeatResponse.EndpointToPartitions.TopicPartition] = ..., standby_partitions: list[StreamsGroupHeartbeatResponse.EndpointToPartitions.TopicPartition] = ...) -> None: ...
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    member_id: str
    member_epoch: int
    heartbeat_interval_ms: int
    acceptable_recovery_lag: int
    task_offset_interval_ms: int
    status: list[StreamsGroupHeartbeatResponse.Status] | None
    active_tasks: list[StreamsGroupHeartbeatResponse.TaskIds] | None
    standby_tasks: list[StreamsGroupHeartbeatResponse.TaskIds] | None
    warmup_tasks: list[StreamsGroupHeartbeatResponse.TaskIds] | None
    endpoint_information_epoch: int
    partitions_by_user_endpoint: list[StreamsGroupHeartbeatResponse.EndpointToPartitions] | None
    def __init__(self, throttle_time_ms: int = ..., error_code: int = ..., error_message: str | None = ..., member_id: str = ..., member_epoch: int = ..., heartbeat_interval_ms: int = ..., acceptable_recovery_lag: int = ..., task_offset_interval_ms: int = ..., status: list[StreamsGroupHeartbeatResponse.Status] | None = ..., active_tasks: list[StreamsGroupHeartbeatResponse.TaskIds] | None = ..., standby_tasks: list[StreamsGroupHeartbeatResponse.TaskIds] | None = ..., warmup_tasks: list[StreamsGroupHeartbeatResponse.TaskIds] | None = ..., endpoint_information_epoch: int = ..., partitions_by_user_endpoint: list[StreamsGroupHeartbeatResponse.EndpointToPartitions] | None = ...) -> None: ...
class StreamsGroupDescribeRequest(Request[StreamsGroupDescribeResponse]):
    group_ids: list[str]
    include_authorized_operations: bool
    def __init__(self, group_ids: list[str] = ..., include_authorized_operations: bool = ...) -> None: ...
class StreamsGroupDescribeResponse(MessageBase):
    class DescribedGroup(MessageBase):
        class Topology(MessageBase):
            class Subtopology(MessageBase):
                class TopicInfo(MessageBase):
                    class KeyValue(MessageBase):
                        key: str
                        value: str
                        def __init__(self, key: str = ..., value: str = ...) -> None: ...
                    name: str
                    partitions: int
                    replication_factor: int
                    topic_configs: list[StreamsGroupDescribeResponse.DescribedGroup.Topology.Subtopology.TopicInfo.KeyValue]
                    def __init__(self, name: str = ..., partitions: int = ..., replication_factor: int = ..., topic_configs: list[StreamsGroupDescribeResponse.DescribedGroup.Topology.Subtopology.TopicInfo.KeyValue] = ...) -> None: ...
                subtopology_id: str
                source_topics: list[str]
                repartition_sink_topics: list[str]
                state_changelog_topics: list[StreamsGroupDescribeResponse.DescribedGroup.Topology.Subtopology.TopicInfo]
                repartition_source_topics: list[StreamsGroupDescribeResponse.DescribedGroup.Topology.Subtopology.TopicInfo]
                def __init__(self, subtopology_id: str = ..., source_topics: list[str] = ..., repartition_sink_topics: list[str] = ..., state_changelog_topics: list[StreamsGroupDescribeResponse.DescribedGroup.Topology.Subtopology.TopicInfo] = ..., repartition_source_topics: list[StreamsGroupDescribeResponse.DescribedGroup.Topology.Subtopology.TopicInfo] = ...) -> None: ...
            epoch: int
            subtopologies: list[StreamsGroupDescribeResponse.DescribedGroup.Topology.Subtopology] | None
            def __init__(self, epoch: int = ..., subtopologies: list[StreamsGroupDescribeResponse.DescribedGroup.Topology.Subtopology] | None = ...) -> None: ...
        class Member(MessageBase):
            class Endpoint(MessageBase):
                host: str
                port: int
                def __init__(self, host: str = ..., port: int = ...) -> None: ...
            class KeyValue(MessageBase):
                key: str
                value: str
                def __init__(self, key: str = ..., value: str = ...) -> None: ...
            class TaskOffset(MessageBase):
                subtopology_id: str
                partition: int
                offset: int
                def __init__(self, subtopology_id: str = ..., partition: int = ..., offset: int = ...) -> None: ...
            class Assignment(MessageBase):
                class TaskIds(MessageBase):
                    subtopology_id: str
                    partitions: list[int]
                    def __init__(self, subtopology_id: str = ..., partitions: list[int] = ...) -> None: ...
                active_tasks: list[StreamsGroupDescribeResponse.DescribedGroup.Member.Assignment.TaskIds]
                standby_tasks: list[StreamsGroupDescribeResponse.DescribedGroup.Member.Assignment.TaskIds]
                warmup_tasks: list[StreamsGroupDescribeResponse.DescribedGroup.Member.Assignment.TaskIds]
                def __init__(self, active_tasks: list[StreamsGroupDescribeResponse.DescribedGroup.Member.Assignment.TaskIds] = ..., standby_tasks: list[StreamsGroupDescribeResponse.DescribedGroup.Member.Assignment.TaskIds] = ..., warmup_tasks: list[StreamsGroupDescribeResponse.DescribedGroup.Member.Assignment.TaskIds] = ...) -> None: ...
            member_id: str
            member_epoch: int
            instance_id: str | None
            rack_id: str | None
            client_id: str
            client_host: str
            topology_epoch: int
            process_id: str
            user_endpoint: StreamsGroupDescribeResponse.DescribedGroup.Member.Endpoint | None
            client_tags: list[StreamsGroupDescribeResponse.DescribedGroup.Member.KeyValue]
            task_offsets: list[StreamsGroupDescribeResponse.DescribedGroup.Member.TaskOffset]
            task_end_offsets: list[StreamsGroupDescribeResponse.DescribedGroup.Member.TaskOffset]
            assignment: StreamsGroupDescribeResponse.DescribedGroup.Member.Assignment | None
            target_assignment: StreamsGroupDescribeResponse.DescribedGroup.Member.Assignment | None
            is_classic: bool
            def __init__(self, member_id: str = ..., member_epoch: int = ..., instance_id: str | None = ..., rack_id: str | None = ..., client_id: str = ..., client_host: str = ..., topology_epoch: int = ..., process_id: str = ..., user_endpoint: StreamsGroupDescribeResponse.DescribedGroup.Member.Endpoint | None = ..., client_tags: list[StreamsGroupDescribeResponse.DescribedGroup.Member.KeyValue] = ..., task_offsets: list[StreamsGroupDescribeResponse.DescribedGroup.Member.TaskOffset] = ..., task_end_offsets: list[StreamsGroupDescribeResponse.DescribedGroup.Member.TaskOffset] = ..., assignment: StreamsGroupDescribeResponse.DescribedGroup.Member.Assignment | None = ..., target_assignment: StreamsGroupDescribeResponse.DescribedGroup.Member.Assignment | None = ..., is_classic: bool = ...) -> None: ...
        error_code: int
        error_message: str | None
        group_id: str
        group_state: str
        group_epoch: int
        assignment_epoch: int
        topology: StreamsGroupDescribeResponse.DescribedGroup.Topology | None
        members: list[StreamsGroupDescribeResponse.DescribedGroup.Member]
        authorized_operations: int
        def __init__(self, error_code: int = ..., error_message: str | None = ..., group_id: str = ..., group_state: str = ..., group_epoch: int = ..., assignment_epoch: int = ..., topology: StreamsGroupDescribeResponse.DescribedGroup.Topology | None = ..., members: list[StreamsGroupDescribeResponse.DescribedGroup.Member] = ..., authorized_operations: int = ...) -> None: ...
    throttle_time_ms: int
    groups: list[StreamsGroupDescribeResponse.DescribedGroup]
    def __init__(self, throttle_time_ms: int = ..., groups: list[StreamsGroupDescribeResponse.DescribedGroup] = ...) -> None: ...
class DescribeShareGroupOffsetsRequest(Request[DescribeShareGroupOffsetsResponse]):
    class DescribeShareGroupOffsetsRequestGroup(MessageBase):
        class DescribeShareGroupOffsetsRequestTopic(MessageBase):
            topic_name: str
            partitions: list[int]
            def __init__(self, topic_name: str = ..., partitions: list[int] = ...) -> None: ...
        group_id: str
        topics: list[DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup.DescribeShareGroupOffsetsRequestTopic] | None
        def __init__(self, group_id: str = ..., topics: list[DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup.DescribeShareGroupOffsetsRequestTopic] | None = ...) -> None: ...
    groups: list[DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup]
    def __init__(self, groups: list[DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup] = ...) -> None: ...
class DescribeShareGroupOffsetsResponse(MessageBase):
    class DescribeShareGroupOffsetsResponseGroup(MessageBase):
        class DescribeShareGroupOffsetsResponseTopic(MessageBase):
            class DescribeShareGroupOffsetsResponsePartition(MessageBase):
                partition_index: int
                start_offset: int
                leader_epoch: int
                lag: int
                error_code: int
                error_message: str | None
                def __init__(self, partition_index: int = ..., start_offset: int = ..., leader_epoch: int = ..., lag: int = ..., error_code: int = ..., error_message: str | None = ...) -> None: ...
            topic_name: str
            topic_id: UUID | None
            partitions: list[DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup.DescribeShareGroupOffsetsResponseTopic.DescribeShareGroupOffsetsResponsePartition]
            def __init__(self, topic_name: str = ..., topic_id: UUID | None = ..., partitions: list[DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup.DescribeShareGroupOffsetsResponseTopic.DescribeShareGroupOffsetsResponsePartition] = ...) -> None: ...
        group_id: str
        topics: list[DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup.DescribeShareGroupOffsetsResponseTopic]
        error_code: int
        error_message: str | None
        def __init__(self, group_id: str = ..., topics: list[DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup.DescribeShareGroupOffsetsResponseTopic] = ..., error_code: int = ..., error_message: str | None = ...) -> None: ...
    throttle_time_ms: int
    groups: list[DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup]
    def __init__(self, throttle_time_ms: int = ..., groups: list[DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup] = ...) -> None: ...
class AlterShareGroupOffsetsRequest(Request[AlterShareGroupOffsetsResponse]):
    class AlterShareGroupOffsetsRequestTopic(MessageBase):
        class AlterShareGroupOffsetsRequestPartition(MessageBase):
            partition_index: int
            start_offset: int
            def __init__(self, partition_index: int = ..., start_offset: int = ...) -> None: ...
        topic_name: str
        partitions: list[AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic.AlterShareGroupOffsetsRequestPartition]
        def __init__(self, topic_name: str = ..., partitions: list[AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic.AlterShareGroupOffsetsRequestPartition] = ...) -> None: ...
    group_id: str
    topics: list[AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic]
    def __init__(self, group_id: str = ..., topics: list[AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic] = ...) -> None: ...
class AlterShareGroupOffsetsResponse(MessageBase):
    class AlterShareGroupOffsetsResponseTopic(MessageBase):
        class AlterShareGroupOffsetsResponsePartition(MessageBase):
            partition_index: int
            error_code: int
            error_message: str | None
            def __init__(self, partition_index: int = ..., error_code: int = ..., error_message: str | None = ...) -> None: ...
        topic_name: str
        topic_id: UUID | None
        partitions: list[AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponseTopic.AlterShareGroupOffsetsResponsePartition]
        def __init__(self, topic_name: str = ..., topic_id: UUID | None = ..., partitions: list[AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponseTopic.AlterShareGroupOffsetsResponsePartition] = ...) -> None: ...
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    responses: list[AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponseTopic]
    def __init__(self, throttle_time_ms: int = ..., error_code: int = ..., error_message: str | None = ..., responses: list[AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponseTopic] = ...) -> None: ...
class DeleteShareGroupOffsetsRequest(Request[DeleteShareGroupOffsetsResponse]):
    class DeleteShareGroupOffsetsRequestTopic(MessageBase):
        topic_name: str
        def __init__(self, topic_name: str = ...) -> None: ...
    group_id: str
    topics: list[DeleteShareGroupOffsetsRequest.DeleteShareGroupOffsetsRequestTopic]
    def __init__(self, group_id: str = ..., topics: list[DeleteShareGroupOffsetsRequest.DeleteShareGroupOffsetsRequestTopic] = ...) -> None: ...
class DeleteShareGroupOffsetsResponse(MessageBase):
    class DeleteShareGroupOffsetsResponseTopic(MessageBase):
        topic_name: str
        topic_id: UUID | None
        error_code: int
        error_message: str | None
        def __init__(self, topic_name: str = ..., topic_id: UUID | None = ..., error_code: int = ..., error_message: str | None = ...) -> None: ...
    throttle_time_ms: int
    error_code: int
    error_message: str | None
    responses: list[DeleteShareGroupOffsetsResponse.DeleteShareGroupOffsetsResponseTopic]
    def __init__(self, throttle_time_ms: int = ..., error_code: int = ..., error_message: str | None = ..., responses: list[DeleteShareGroupOffsetsResponse.DeleteShareGroupOffsetsResponseTopic] = ...) -> None: ...
class ConsumerProtocolAssignment(MessageBase):
    class TopicPartition(MessageBase):
        topic: str
        partitions: list[int]
        def __init__(self, topic: str = ..., partitions: list[int] = ...) -> None: ...
    assigned_partitions: list[ConsumerProtocolAssignment.TopicPartition]
    user_data: bytes | None
    def __init__(self, assigned_partitions: list[ConsumerProtocolAssignment.TopicPartition] = ..., user_data: bytes | None = ...) -> None: ...
class ConsumerProtocolSubscription(MessageBase):
    class TopicPartition(MessageBase):
        topic: str
        partitions: list[int]
        def __init__(self, topic: str = ..., partitions: list[int] = ...) -> None: ...
    topics: list[str]
    user_data: bytes | None
    owned_partitions: list[ConsumerProtocolSubscription.TopicPartition]
    generation_id: int
    rack_id: str | None
    def __init__(self, topics: list[str] = ..., user_data: bytes | None = ..., owned_partitions: list[ConsumerProtocolSubscription.TopicPartition] = ..., generation_id: int = ..., rack_id: str | None = ...) -> None: ...
